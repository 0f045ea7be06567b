local actions = {}
local phase = obj.status ~= nil and obj.status.phase or "PENDING"
local waits = phase == "PENDING" and obj.spec.cancel ~= true
local suspended = obj.spec.suspend == true
actions["suspend"] = {["disabled"] = not waits or suspended}
actions["resume"] = {["disabled"] = not waits or not suspended}
actions["start-now"] = {["disabled"] = not waits or suspended}
actions["cancel"] = {["disabled"] = phase == "DONE" or obj.spec.cancel == true}
return actions

local actions = {}
local paused = obj.metadata.annotations ~= nil and obj.metadata.annotations["app.example.com/paused"] == "true"
actions["restart"] = {["disabled"] = obj.spec.template == nil}
actions["pause"] = {["disabled"] = paused}
actions["resume"] = {["disabled"] = not paused}
return actions

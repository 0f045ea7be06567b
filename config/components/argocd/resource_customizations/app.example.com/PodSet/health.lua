local health = {status = "Progressing", message = "waiting for the operator"}
if obj.status == nil or obj.status.conditions == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  conditions[condition.type] = condition
end
local ready, stalled = conditions["Ready"], conditions["Stalled"]
if ready == nil then
  return health
end
health.message = ready.message
if stalled ~= nil and stalled.status == "True" then
  health.status = "Degraded"
elseif ready.reason == "Suspended" or ready.reason == "Paused" then
  health.status = "Suspended"
elseif ready.status == "True" then
  health.status = "Healthy"
end
return health

local os = require("os")
local template = obj.spec.template
if template.metadata == nil then
  template.metadata = {}
end
if template.metadata.annotations == nil then
  template.metadata.annotations = {}
end
template.metadata.annotations["kubectl.kubernetes.io/restartedAt"] = os.date("!%Y-%m-%dT%XZ")
return obj

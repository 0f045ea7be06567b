local os = require("os")
obj.spec.schedule = os.date("!%Y-%m-%dT%XZ")
return obj

obj.metadata.annotations["app.example.com/paused"] = nil
return obj

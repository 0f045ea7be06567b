// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// webYAML is an application with a Secret, a volume, a service account, and a proxy. Its argument is the image.
const webYAML = `
apiVersion: v1
kind: Secret
metadata: {name: database}
stringData: {PASSWORD: correct-horse}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {greeting: hello from the volume}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: %[1]s
        command: [sleep, "3600"]
        envFrom: [{secretRef: {name: database}}]
        volumeMounts: [{name: config, mountPath: /config}]
      - name: proxy
        image: %[1]s
        command: [sh, -c, "trap exit TERM; while true; do echo connected | nc -l -p 5432 & wait; done"]
        startupProbe: {tcpSocket: {port: 5432}, periodSeconds: 1}
      volumes: [{name: config, configMap: {name: web}}]
`

// usesThePlugin checks kubectl at with real pods: the environment of an application, logs, and exit codes.
func (p *project) usesThePlugin() {
	image := cmp.Or(os.Getenv("BUSYBOX_IMG"), "docker.io/library/busybox")
	p.types("kubectl apply -f - <<'END'%sEND", fmt.Sprintf(webYAML, image))
	shows := func(want, line string) {
		p.t.Helper()
		if output := p.types("%s", line); !strings.Contains(output, want) {
			p.t.Errorf("%s\ndoes not show %q:\n%s", line, want, output)
		}
	}

	shows("correct-horse, hello from the volume\n",
		`kubectl at now --name reads --from deploy/web --wait -- sh -c 'echo "$PASSWORD, $(cat /config/greeting)"'`)
	shows("connected\n", "kubectl at now --from deploy/web --with proxy --wait -- sh -c 'nc 127.0.0.1 5432 </dev/null'")
	shows("web", "kubectl get pod reads-pod -o jsonpath='{.spec.serviceAccountName}'")
	shows("No resources found", "kubectl get pods -l app=web,cnat.d2iq.com/at") // No Service sends traffic to it.

	p.types("kubectl at now + 3 seconds --name counts -- sh -c 'for i in 1 2 3; do echo line $i; sleep 1; done; exit 3'")
	shows("line 1\nline 2\nline 3\n", "kubectl at logs -f counts")
	shows("exit code 3", `kubectl at wait counts || { code=$?; echo "exit code $code"; test $code = 3; }`)
	shows("DONE", "kubectl at list -o wide")
	shows("code 124", "kubectl at tomorrow noon --name waits -q -- true && { kubectl at wait waits --timeout 1s || echo code $?; }")

	p.types("echo 'echo from a script | tr a-z A-Z' | kubectl at now --name script -q")
	shows("FROM A SCRIPT\n", "kubectl at logs -f script")
	p.types("kubectl at now --name entrypoint -q --image %s", image) // The entrypoint is sh, which ends at once.
	p.types("kubectl at wait entrypoint")
	done(p.t, p.at("entrypoint"))

	shows("02:30 does not exist on Sun 28 Mar 2027", "kubectl at 02:30 Mar 28 2027 --tz Europe/Berlin --name spring -- true")
	shows("2027-03-28T03:30:00+02:00", "kubectl at cat spring")
	shows("at/spring deleted", "kubectl at rm spring")
}

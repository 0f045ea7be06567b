// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rehearsal

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// mistake is a template with one mistake. Its rehearsal must print some words, and exit with 1. It is found without the look for the program,
// unless it needs the look.
type mistake struct {
	edit  func(spec *corev1.PodSpec, main *corev1.Container)
	found string
	look  bool
}

func volume(name, mount string, source corev1.VolumeSource) func(*corev1.PodSpec, *corev1.Container) {
	return func(spec *corev1.PodSpec, main *corev1.Container) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: mount})
	}
}

func program(path string) func(*corev1.PodSpec, *corev1.Container) {
	return func(_ *corev1.PodSpec, main *corev1.Container) { main.Command = []string{path} }
}

func mistakes() map[string]mistake {
	image := func(name string) func(*corev1.PodSpec, *corev1.Container) {
		return func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Image, main.Command = registry+"/"+name, []string{"/hello"}
		}
	}
	env := func(name string, from *corev1.EnvVarSource) func(*corev1.PodSpec, *corev1.Container) {
		return func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Env = []corev1.EnvVar{{Name: name, ValueFrom: from}}
		}
	}
	secret := func(name string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "absent"}}
	}
	claim := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	request := func(name corev1.ResourceName, quantity string) func(*corev1.PodSpec, *corev1.Container) {
		return func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Resources.Requests[name] = resource.MustParse(quantity)
		}
	}
	return map[string]mistake{
		"wrong-tag":  {edit: func(_ *corev1.PodSpec, main *corev1.Container) { main.Image = "busybox:9.99" }, found: "busybox:9.99: not found"},
		"secret-env": {edit: env("A", secret("no-secret")), found: `secret "no-secret" not found`},
		"secret-key": {edit: env("A", secret("present")), found: "couldn't find key absent in Secret"},
		"secret-volume": {edit: volume("s", "/s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "no-secret"}}),
			found: `secret "no-secret" not found`},
		"configmap-from": {edit: func(_ *corev1.PodSpec, main *corev1.Container) {
			main.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "no-map"}}}}
		}, found: `configmap "no-map" not found`},
		"pvc-missing": {edit: volume("d", "/d", claim("no-claim")), found: `persistentvolumeclaim "no-claim" not found`},
		"pvc-unbound": {edit: volume("d", "/d", claim("unbound")), found: "unbound immediate PersistentVolumeClaims"},
		"hostpath-type": {edit: volume("h", "/h", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/no-such", Type: ptr.To(corev1.HostPathDirectory)}}),
			found: "hostPath type check failed"},
		"subpath": {edit: func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("e", "/e", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(spec, main)
			main.VolumeMounts[0].SubPathExpr = "$(UNKNOWN)"
		}, found: "missing value for UNKNOWN"},
		"node-selector":      {edit: func(spec *corev1.PodSpec, _ *corev1.Container) { spec.NodeSelector = map[string]string{"no": "node"} }, found: "node affinity/selector"},
		"cpu-too-large":      {edit: request(corev1.ResourceCPU, "64"), found: "Insufficient cpu"},
		"arch-index":         {edit: image("arch-index:1"), found: "no match for platform"},
		"arch-binary":        {edit: image("arch-binary:1"), found: "exec format error", look: true},
		"arch-single":        {edit: image("arch-single:1"), found: "exec format error", look: true},
		"no-executable":      {edit: program("/app/migrate"), found: "/app/migrate"},
		"no-executable-path": {edit: program("migrate"), found: "is in PATH", look: true},
		"no-x-bit":           {edit: program("/etc/passwd"), found: "permission denied", look: true},
		"is-directory":       {edit: program("/etc"), found: `exec: "/etc`},
		"nonroot": {edit: func(_ *corev1.PodSpec, main *corev1.Container) {
			main.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr.To(true)}
		}, found: "will run as root"},
		"workdir": {edit: func(_ *corev1.PodSpec, main *corev1.Container) { main.WorkingDir = "/etc/passwd" }, found: "not a directory"},
		"user-perm": {edit: func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Image, main.Command = registry+"/private:2", []string{"x"}
			main.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](1000)}
		}, found: "is in PATH", look: true},
		"sa-missing": {edit: func(spec *corev1.PodSpec, _ *corev1.Container) { spec.ServiceAccountName = "no-account" }, found: `serviceaccount "no-account" not found`},
		"quota":      {edit: request(corev1.ResourceMemory, "3Gi"), found: "exceeded quota"},
		"priority":   {edit: func(spec *corev1.PodSpec, _ *corev1.Container) { spec.PriorityClassName = "no-class" }, found: "no PriorityClass with name no-class"},
	}
}

func TestMistakes(t *testing.T) {
	n := newNamespace(t)
	pushImages(t)
	n.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "present"}})
	n.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "unbound"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: ptr.To(""), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}})
	n.create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "memory"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse("2Gi")}}})
	n.run("good", template("good"))
	if ran := reports.take(); len(ran) < 3 {
		t.Fatalf("only %v of a pod that ran reached the counter", ran)
	}
	table, found := strings.Builder{}, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(mistakes())) {
		m := mistakes()[name]
		at := template(name)
		m.edit(&at.Spec, &at.Spec.Containers[0])
		n.at(name, at)
		for _, look := range []bool{false, true} {
			n.expect(name, m, look, &table, found)
		}
	}
	n.at("good", template("good"))
	for _, look := range []bool{false, true} {
		n.expect("good", mistake{}, look, &table, found)
	}
	t.Logf("found: %v\n%s", found, table.String())
}

// expect rehearses an At, and compares the result with what is wrong with it.
func (n *namespace) expect(name string, m mistake, look bool, table *strings.Builder, found map[string]int) {
	n.Helper()
	args, kind := []string{name, "--timeout", "20s"}, "without"
	if look {
		args, kind = append(args, "--look-for-program="+busybox), "look"
	}
	out, code, took := n.rehearse(args...)
	want := 0
	if m.found != "" && (look || !m.look) {
		want = 1
	}
	if code != want || want == 1 && !strings.Contains(out, m.found) {
		n.Errorf("%s (%s): exit code %d, want %d and %q:\n%s", name, kind, code, want, m.found, out)
	}
	found[kind] += code
	fmt.Fprintf(table, "%-20s %-8s %d %5.1fs  %s\n", name, kind, code, took.Round(time.Second/10).Seconds(), strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]))
}

// pushImages pushes the images of another architecture, and one with a program that only root can reach.
func pushImages(t *testing.T) {
	t.Helper()
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	binary = binary[:4096]
	binary[18] = map[string]byte{"arm64": byte(elf.EM_AARCH64), "amd64": byte(elf.EM_X86_64)}[other]
	dir := t.TempDir()
	for file, content := range map[string][]byte{
		"hello": binary, "private/only/x": binary, "arch": []byte("FROM scratch\nCOPY hello /hello\n"),
		"secret": []byte("FROM scratch\nCOPY private /private\nENV PATH=/private/only\n"),
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -eu; cd "$1"; t=$CONTAINER_TOOL r=$E2E_REGISTRY
$t build -q -f arch -t $r/arch-binary:1 . && $t push -q $r/arch-binary:1
$t build -q --platform linux/$2 -f arch -t $r/arch-single:1 . && $t push -q $r/arch-single:1
$t manifest rm $r/arch-index:1 2>/dev/null || true
$t manifest create $r/arch-index:1 && $t manifest add $r/arch-index:1 docker://$r/arch-single:1
$t manifest push -q --all $r/arch-index:1 docker://$r/arch-index:1
$t build -q -f secret -t $r/private:2 . && $t push -q $r/private:2`
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", dir, other).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

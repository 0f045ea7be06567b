// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lab is a cluster whose processes run on this machine. `lab up` starts those that do not run.
type lab struct {
	script string
	home   string // contains run/NAME.pid for each process
	court  *court
}

func (l *lab) freeze(what string, from, to int, pids func(*rand.Rand) []int) injector {
	return injector{what + " frozen", func(ctx context.Context, random *rand.Rand, moment func()) error {
		frozen := pids(random)
		moment()
		l.signal(syscall.SIGSTOP, frozen)
		pause(ctx, seconds(random, from, to))
		l.signal(syscall.SIGCONT, frozen)
		return nil
	}}
}

// ofManagers has faults of the operator. A manager that is frozen for longer than its lease continues next to its successor. The pods of
// managers that were killed are replaced, so that the kubelet does not wait for minutes before it starts them again.
func (l *lab) ofManagers() []injector {
	all := func(*rand.Rand) []int { return l.managers() }
	one := func(random *rand.Rand) []int {
		pids := l.managers()
		random.Shuffle(len(pids), func(i, k int) { pids[i], pids[k] = pids[k], pids[i] })
		return pids[:min(1, len(pids))]
	}
	kill := func(what string, pids func(*rand.Rand) []int) injector {
		return injector{what + " killed", func(ctx context.Context, random *rand.Rand, moment func()) error {
			killed := pids(random)
			moment()
			l.signal(syscall.SIGKILL, killed)
			return l.court.replaceManagers(ctx)
		}}
	}
	return []injector{
		kill("all managers", all), kill("one manager", one), l.freeze("all managers", 16, 22, all), l.freeze("one manager", 16, 22, one),
	}
}

func (l *lab) ofCluster() []injector {
	kill := func(names ...string) injector {
		return injector{strings.Join(names, " and ") + " killed", func(ctx context.Context, random *rand.Rand, moment func()) error {
			killed := l.pids(names...)
			moment()
			l.signal(syscall.SIGKILL, killed)
			pause(ctx, seconds(random, 0, 8))
			return l.up(ctx)
		}}
	}
	named := func(name string) func(*rand.Rand) []int { return func(*rand.Rand) []int { return l.pids(name) } }
	return []injector{
		kill("apiserver"), kill("etcd"), kill("etcd", "apiserver"), kill("kubelet"), kill("containerd"), kill("kcm"), kill("scheduler"),
		l.freeze("kubelet", 45, 60, named("kubelet")), // longer than a node may be silent
		l.freeze("kube-controller-manager", 5, 20, named("kcm")),
		{"half of the shims of commands killed", l.killShims},
		{"half of the shims of commands killed", l.killShims},
		{"loss of power", l.powerLoss},
	}
}

// killShims waits until some commands run.
func (l *lab) killShims(ctx context.Context, random *rand.Rand, moment func()) error {
	for end := time.Now().Add(20 * time.Second); len(l.containers("/command")) < 4 && time.Now().Before(end); {
		pause(ctx, 500*time.Millisecond)
	}
	moment()
	for _, command := range l.containers("/command") {
		if random.IntN(2) == 0 {
			l.signal(syscall.SIGKILL, []int{command.parent})
		}
	}
	return nil
}

// powerLoss kills everything that a node runs, and removes what does not survive a reboot: mounts, network namespaces, and the state of
// containerd in /run. The control plane is another machine.
func (l *lab) powerLoss(ctx context.Context, random *rand.Rand, moment func()) error {
	moment()
	l.signal(syscall.SIGKILL, l.pids("kubelet", "containerd"))
	shims := l.shims()
	l.signal(syscall.SIGKILL, pidsOf(processes(func(p process) bool { return shims[p.pid] || shims[p.parent] })))
	pause(ctx, time.Second)
	state := filepath.Join(l.home, "run/containerd")
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[1]; strings.HasPrefix(at, state+"/") || strings.HasPrefix(at, "/run/netns/cni-") {
			_ = syscall.Unmount(at, syscall.MNT_DETACH) // A mount may be below one that is gone.
		}
	}
	spaces, err := filepath.Glob("/run/netns/cni-*")
	for _, path := range append(spaces, state) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	pause(ctx, seconds(random, 1, 15))
	return errors.Join(err, l.up(ctx))
}

// up starts what does not run. A kubelet that starts before containerd is ready ends at once, so up looks again.
func (l *lab) up(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var output []byte
	var err error
	for range 5 {
		if output, err = exec.CommandContext(ctx, l.script, "up").CombinedOutput(); err != nil {
			continue
		}
		pause(ctx, time.Second)
		if output, err = exec.CommandContext(ctx, l.script, "status").CombinedOutput(); err == nil && !strings.Contains(string(output), " down") {
			return nil
		}
	}
	return fmt.Errorf("lab up: %w: %s", err, output)
}

// pids returns the processes of the lab with these names that run.
func (l *lab) pids(names ...string) []int {
	var pids []int
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(l.home, "run", name+".pid"))
		if err != nil {
			continue
		}
		words := strings.Fields(string(content))
		pid, err := strconv.Atoi(words[0])
		// The ID may be that of another process by now.
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && len(words) == 2 && exe == words[1] {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (l *lab) signal(signal syscall.Signal, pids []int) {
	for _, pid := range pids {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // or empty
		err := syscall.Kill(pid, signal)
		l.court.journal.add(event{kind: fault, text: fmt.Sprintf("signal %q to %s: %s", signal, strings.TrimSpace(string(name)), outcome(err))})
	}
}

func (l *lab) managers() []int { return pidsOf(l.containers("/manager")) }

// shims returns the shims of the lab's containerd. Each is the parent of the containers of one pod.
func (l *lab) shims() map[int]bool {
	shims := map[int]bool{}
	for _, p := range processes(func(p process) bool {
		return filepath.Base(p.args[0]) == "containerd-shim-runc-v2" && slices.Contains(p.args, filepath.Join(l.home, "run/containerd/containerd.sock"))
	}) {
		shims[p.pid] = true
	}
	return shims
}

// containers returns the first processes of containers that run a program of their image.
func (l *lab) containers(program string) []process {
	shims := l.shims()
	return processes(func(p process) bool { return p.args[0] == program && shims[p.parent] })
}

func pidsOf(processes []process) []int {
	pids := make([]int, 0, len(processes))
	for _, p := range processes {
		pids = append(pids, p.pid)
	}
	return pids
}

// process is a process of this machine. Those of containers are, too.
type process struct {
	pid, parent int
	args        []string
}

// processes returns those that are wanted.
func processes(wanted func(process) bool) []process {
	var found []process
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // The pattern is valid.
	for _, path := range paths {
		cmdline, err := os.ReadFile(path)
		stat, err2 := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		_, fields, hasName := strings.Cut(string(stat), ") ") // PID (NAME) STATE PARENT ...
		if errors.Join(err, err2) != nil || len(cmdline) == 0 || !hasName {
			continue // It has ended, or it is a thread of the kernel.
		}
		p := process{args: strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		p.parent, _ = strconv.Atoi(strings.Fields(fields)[1])
		if wanted(p) {
			found = append(found, p)
		}
	}
	return found
}

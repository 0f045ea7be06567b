// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine is what the figures were measured on, and the versions of what was measured.
type machine struct {
	CPU      string
	Cores    int
	MemoryGB int
	Kernel   string
	Go       string
	Versions map[string]string
}

// operatorVersion is the name of the operator among the versions.
const operatorVersion = "podset-operator"

// beforeVersion is the name of the earlier operator among the versions.
const beforeVersion = "podset-operator before"

func thisMachine(assets string) machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Versions: map[string]string{}}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemoryGB = (kb + 1<<19) >> 20
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	for name, command := range map[string][]string{
		"etcd":                    {assets + "/etcd", "--version"},
		"kube-apiserver":          {assets + "/kube-apiserver", "--version"},
		"kwok":                    {assets + "/kwok", "--version"},
		"kube-controller-manager": {assets + "/kube-controller-manager", "--version"},
		operatorVersion:           {"git", "describe", "--always", "--dirty", "--exclude=*"},
	} {
		if output, err := exec.Command(command[0], command[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(string(output), "\n")
			m.Versions[name] = strings.TrimSpace(strings.NewReplacer("etcd Version:", "", "kwok version ", "").Replace(first))
		}
	}
	return m
}

// field reads "name: value" from a file of /proc.
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load is the machine's load average of the last minute.
func load() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

// stealMeter measures the share of the processors' time that the host of a virtual machine gave to others. Figures that were taken
// while it is high say little.
type stealMeter struct {
	at            time.Time
	stolen, total float64
	last          float64
}

// stealInterval is the shortest time of which a share is computed. Samples that are added together have the same share.
const stealInterval = 5 * time.Second

// share is the share since the last call, from 0 to 1, or that of the last call if it was a moment ago.
func (m *stealMeter) share() float64 {
	if time.Since(m.at) < stealInterval {
		return m.last
	}
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	stolen, total := processorTimes(string(data))
	if !m.at.IsZero() && total > m.total {
		m.last = (stolen - m.stolen) / (total - m.total)
	}
	m.at, m.stolen, m.total = time.Now(), stolen, total
	return m.last
}

// processorTimes returns two numbers of the first line of /proc/stat: the time that was stolen, and all time.
func processorTimes(stat string) (stolen, total float64) {
	first, _, _ := strings.Cut(stat, "\n")
	// cpu user nice system idle iowait irq softirq steal; the times of guests, which follow, are part of user and nice.
	for i, ticks := range strings.Fields(first) {
		n, err := strconv.ParseFloat(ticks, 64)
		if err != nil || i > 8 {
			continue
		}
		total += n
		if i == 8 {
			stolen = n
		}
	}
	return stolen, total
}

// resident is the resident memory of the process in MiB: all of it with the name VmRSS, without the pages of its program's
// file with RssAnon.
func (p *process) resident(name string) (float64, error) {
	value := strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid), name), " kB")
	kb, err := strconv.ParseFloat(value, 64)
	return kb / 1024, err
}

// clockTicks is sysconf(_SC_CLK_TCK), 100 on every Linux.
const clockTicks = 100

// cpu is the processor time that the process has taken.
func (p *process) cpu() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, i := range []int{11, 12} { // utime and stime
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}

// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"strconv"
)

// signalCode is what runtimes add to the number of the signal that ended a process.
const signalCode = 128

// signals are the signals of Linux that usually end a process. The nodes run Linux, wherever this runs.
var signals = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE",
	14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

// exitCode returns an exit code with the name of the signal that it stands for.
func exitCode(code int32) string {
	if name := signals[code-signalCode]; name != "" {
		return fmt.Sprintf("%d (%s)", code, name)
	}
	return strconv.Itoa(int(code))
}

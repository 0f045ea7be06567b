// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/script"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
	"github.com/redhat/podset-operator/internal/at/spec"
)

// zoneForm is what --tz and TZ can be.
const zoneForm = "a name such as Europe/Berlin, America/New_York, or UTC"

// location returns the time zone of --tz, or that of this machine.
func (p *plugin) location() (*time.Location, error) {
	if p.zone == "" {
		return time.Local, checkZone(os.Getenv("TZ"))
	}
	if offset, err := time.Parse("-07:00", p.zone); err == nil {
		_, seconds := offset.Zone()
		return time.FixedZone(p.zone, seconds), nil
	}
	location, err := time.LoadLocation(p.zone)
	if err != nil {
		location, err = time.LoadLocation(strings.ToUpper(p.zone)) // utc, cet
	}
	if err != nil {
		return nil, fmt.Errorf("invalid --tz %q: expected %s, or an offset such as +05:30", p.zone, zoneForm)
	}
	return location, nil
}

// checkZone returns an error if Go does not know the time zone of the environment: it then takes UTC without a word,
// and the command would run at another time than its user means. It knows names and files, and no rules such as
// CET-1CEST.
func checkZone(tz string) error {
	if runtime.GOOS == "windows" || tz == "UTC0" { // Windows has the time zone elsewhere; UTC0 is UTC.
		return nil
	}
	name := strings.TrimPrefix(tz, ":")
	_, err := time.LoadLocation(name)
	if strings.HasPrefix(name, "/") {
		var data []byte
		if data, err = os.ReadFile(name); err == nil {
			_, err = time.LoadLocationFromTZData(name, data)
		}
	}
	if err != nil {
		return fmt.Errorf("invalid environment variable TZ %q: expected %s, in TZ or --tz", tz, zoneForm)
	}
	return nil
}

// addTimeFlag adds -t.
func addTimeFlag(cmd *cobra.Command, stamp *string) {
	cmd.Flags().StringVarP(stamp, "time", "t", "", "Time as `[[CC]YY]MMDDhhmm[.SS]`, in place of TIME.")
}

// parseTime returns the time that the words, or else the stamp of -t, mean, and what is to be said about it.
func (p *plugin) parseTime(words []string, stamp string) (time.Time, []string, error) {
	location, err := p.location()
	if err != nil {
		return time.Time{}, nil, err
	}
	now := p.clock.Now()
	p.asked = now
	switch {
	case stamp != "" && len(words) > 0:
		return time.Time{}, nil, fmt.Errorf("--time cannot be combined with TIME %q", strings.Join(words, " "))
	case stamp != "":
		return timespec.ParseStamp(stamp, now, location)
	default:
		return timespec.Parse(words, now, location)
	}
}

// verbsElsewhere are the commands for verbs of other tools.
var verbsElsewhere = map[string]string{
	"apply": "kubectl apply -f FILE", "create": "kubectl at TIME... -- COMMAND", "describe": "kubectl describe at NAME", "edit": "kubectl edit at NAME",
	"run": "kubectl at now -- COMMAND", "schedule": "kubectl at TIME... -- COMMAND", "version": "kubectl at --version",
}

// explain adds to an error about TIME what the word there may mean: a verb, a mistyped word, or a command without --
// before it.
func explain(cmd *cobra.Command, words, command []string, stamp string, err error) error {
	before, rest := "-t "+stamp, words // what is the time, and what is not
	if syntax, ok := errors.AsType[*timespec.SyntaxError](err); ok {
		n := len(strings.Fields(syntax.Text[:syntax.Offset]))
		isPart := n >= len(words) || syntax.Offset > 0 && syntax.Text[syntax.Offset-1] != ' '
		switch {
		case isPart || syntax.Remedy != "":
			return err
		case syntax.Offset == 0 && cmd.Flags().Changed("quiet") && len(words[0]) == 1:
			return fmt.Errorf("%w; -q is --quiet here, because there are no queues", err)
		case syntax.Offset == 0 && verbFor(cmd, words[0]) != "":
			return fmt.Errorf("%q is neither a time nor a command; did you mean \"%s\"?", words[0], verbFor(cmd, words[0]))
		case similarWord(words[n]) != "":
			return fmt.Errorf("%w; did you mean %q?", err, similarWord(words[n]))
		case !syntax.Complete:
			return err
		}
		before, rest = strings.Join(words[:n], " "), words[n:]
	} else if stamp == "" || len(words) == 0 {
		return err
	}
	isCommand := !timespec.IsWord(rest[0])
	if len(command) > 0 {
		rest, isCommand = slices.Concat(rest, []string{"--"}, command), isCommand && strings.HasPrefix(command[0], "-") // npm run x -- --all
	}
	quoted, quoteErr := script.Quote(rest)
	if !isCommand || quoteErr != nil {
		return err
	}
	return fmt.Errorf("%w; a command goes after --: kubectl at %s -- %s", err, before, quoted)
}

// verbFor returns the command that a word may mean, or "".
func verbFor(cmd *cobra.Command, word string) string {
	if command := verbsElsewhere[strings.ToLower(word)]; command != "" {
		return command
	}
	if similar := cmd.SuggestionsFor(word); len(word) > 2 && len(similar) > 0 {
		return "kubectl at " + similar[0]
	}
	return ""
}

// similarWord returns the word of TIME that a word may mean, or "". Short words are too similar to programs.
func similarWord(word string) string {
	known := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range strings.Fields(timeExamples) {
		known.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if similar := known.SuggestionsFor(word); len(word) > 5 && len(similar) > 0 {
		return similar[0]
	}
	return ""
}

// dueTime returns when an At runs: what the operator says about this version of it, or what its schedule means. It is
// zero when there is none.
func dueTime(a *cnatv1alpha1.At) time.Time {
	if a.Status.ScheduledTime != nil && !isOutdated(a) {
		return a.Status.ScheduledTime.Time
	}
	due, err := spec.ParseSchedule(a.Spec.Schedule, a.CreationTimestamp.Time)
	if err != nil {
		return time.Time{}
	}
	return due
}

// line returns the line about an At that is due at a time. A request takes a moment, but now is now.
func (r *request) line(at *cnatv1alpha1.At, due time.Time, notes []string) string {
	return runsAt(at, due, cmp.Or(r.asked, r.clock.Now()), notes)
}

// runsAt returns "at/NAME runs at TIME (DISTANCE)" and the notes.
func runsAt(at *cnatv1alpha1.At, due, now time.Time, notes []string) string {
	name := at.Name
	if name == "" {
		name = at.GenerateName + "?????"
	}
	line := fmt.Sprintf("at/%s runs at %s (%s)", name, timespec.Format(due), timespec.Distance(due, now))
	switch {
	case isTooLate(at, due, now):
		line = fmt.Sprintf("at/%s does not run: it was due at %s (%s), and its starting deadline is over", name, timespec.Format(due), timespec.Distance(due, now))
	case now.Sub(due) >= time.Second:
		line = fmt.Sprintf("at/%s runs now, it was due at %s (%s)", name, timespec.Format(due), timespec.Distance(due, now))
	}
	if len(notes) > 0 {
		line += ": " + strings.TrimSuffix(strings.Join(notes, " "), ".")
	}
	if at.Spec.Suspend != nil && *at.Spec.Suspend {
		line += ", suspended"
	}
	return line
}

// formatSchedule returns t as spec.schedule.
func formatSchedule(t time.Time) string { return t.Format(time.RFC3339Nano) }

// durationValue is the value of a flag that also takes days and weeks.
type durationValue time.Duration

func (d *durationValue) Set(text string) error {
	value, err := timespec.ParseDuration(text)
	*d = durationValue(value)
	return err
}

func (d *durationValue) String() string { return strings.TrimPrefix(time.Duration(*d).String(), "0s") } // no default in the help
func (d *durationValue) Type() string   { return "duration" }

// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/internal/at/spec"
)

// The CEL rules of the CRD for spec.command, with which SplitCommand must agree, and their messages. Characters that
// would need quoting in a rule are written as \x5c (backslash), \x27 and \x22 (quotes), \x09 \x0a \x20 (blanks), \x00
// (NUL).
const (
	// quotingPattern matches a text in which every quote is closed, a character follows every backslash, and no
	// character is NUL.
	quotingPattern = `^(?:[^\x5c\x27\x22\x00]|\x5c[^\x00]|\x27[^\x27\x00]*\x27|\x22(?:[^\x22\x5c\x00]|\x5c[^\x00])*\x22)*$`
	quotingMessage = "spec.command must close every quote, end without a lone backslash and hold no NUL character: " +
		`to pass a quote or a backslash itself, put a backslash before it`
	// programPattern matches a text of this kind whose first word is not empty.
	programPattern = `^(?:[\x09\x0a\x20]|\x5c\x0a)*(?:\x27\x27|\x22(?:\x5c\x0a)*\x22|\x5c\x0a)*` +
		`(?:[^\x5c\x27\x22\x09\x0a\x20]|\x5c[^\x0a]|\x27[^\x27]|\x22(?:\x5c\x0a)*(?:[^\x22\x5c]|\x5c[^\x0a]))`
	programMessage = "spec.command must begin with the program to run: its first word is missing or empty"
)

func TestSplitCommand(t *testing.T) {
	for _, row := range rows(t, "testdata/commands.txt") {
		words, err := spec.SplitCommand(row.input)
		if (err == nil) != row.ok {
			t.Errorf("SplitCommand(%q): got error %v, want ok %t", row.input, err, row.ok)
		} else if row.ok && !cmp.Equal(words, row.words) {
			t.Errorf("SplitCommand(%q): got %q, want %q", row.input, words, row.words)
		}
	}
}

func TestSplitCommand_rules(t *testing.T) {
	wantRule(t, "self.matches(r'"+quotingPattern+"')", quotingMessage)
	wantRule(t, "self.matches(r'"+programPattern+"')", programMessage)
	if strings.ContainsAny(quotingPattern+programPattern+quotingMessage+programMessage, "`'") {
		t.Error("a pattern or message has a character that a CEL string or a marker would need quoted")
	}
}

func TestSplitCommand_errors(t *testing.T) {
	const noProgram = "the first word is missing or empty: begin with the program to run"
	for name, test := range map[string]struct{ command, want string }{
		"an open single quote":     {"echo é'a", `the quote ' at character 7 is never closed: close it, or write \' for the character itself`},
		"an open double quote":     {`echo "a\"`, `the quote " at character 6 is never closed: close it, or write \" for the character itself`},
		"a backslash at the end":   {`echo é\`, `character 7 is a backslash with nothing after it: remove it, or write \\ for a backslash itself`},
		"a NUL":                    {"echo 'a\x00'", "character 8 is NUL, which a program argument cannot contain: remove it"},
		"nothing but blanks":       {" \n", noProgram},
		"an empty word at the top": {`"" a`, noProgram},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := spec.SplitCommand(test.command); err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func admitsCommand() func(string) bool {
	quoting, program := regexp.MustCompile(quotingPattern), regexp.MustCompile(programPattern)
	return func(command string) bool { return quoting.MatchString(command) && program.MatchString(command) }
}

func FuzzSplitCommand(f *testing.F) {
	for _, row := range rows(f, "testdata/commands.txt") {
		f.Add(row.input)
	}
	admits := admitsCommand()
	f.Fuzz(func(t *testing.T, command string) {
		words, err := spec.SplitCommand(command)
		if utf8.ValidString(command) && admits(command) != (err == nil) { // JSON holds nothing else than UTF-8
			t.Fatalf("%q: admitted %t, but the error is %v", command, admits(command), err)
		}
		if err != nil {
			return
		}
		for _, quote := range []func(string) string{quoteSingle, quoteDouble, quoteBackslash} {
			quoted := make([]string, len(words))
			for i, word := range words {
				quoted[i] = quote(word)
			}
			again, err := spec.SplitCommand(strings.Join(quoted, " "))
			if err != nil || !cmp.Equal(again, words) {
				t.Errorf("%q: the words are %q, quoted and split again %q (%v)", command, words, again, err)
			}
		}
	})
}

func quoteSingle(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func quoteDouble(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(word) + `"`
}

func quoteBackslash(word string) string {
	if word == "" {
		return "''"
	}
	var b strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\n':
			b.WriteString("'\n'")
		case c < utf8.RuneSelf:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Short strings over what is special, all of them up to a length: admission and the operator agree.
func TestSplitCommand_short(t *testing.T) {
	const alphabet = "a\\'\" \n\x00"
	admits := admitsCommand()
	for length, count := 0, 1; length <= 5; length, count = length+1, count*len(alphabet) {
		for n := range count {
			var b strings.Builder
			for range length {
				b.WriteByte(alphabet[n%len(alphabet)])
				n /= len(alphabet)
			}
			if _, err := spec.SplitCommand(b.String()); admits(b.String()) != (err == nil) {
				t.Errorf("%q: admitted %t, but the error is %v", b.String(), admits(b.String()), err)
			}
		}
	}
}

// A shell splits the same way whatever has nothing to expand and no operators.
func TestSplitCommand_shell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var script strings.Builder
	var want []string
	for len(want) < 400 {
		var b strings.Builder
		for range random.IntN(12) {
			// A newline ends a shell's command and $ begins an expansion, so they are only tried behind a backslash, and no
			// other backslash is alone.
			b.WriteString([]string{"a", "é", " ", "\t", `\a`, `'`, `"`, "\\\n", `\\`, `\"`, `'\''`, `\$`, "/", "="}[random.IntN(14)])
		}
		words, err := spec.SplitCommand("x " + b.String())
		if err != nil {
			continue
		}
		script.WriteString("p " + b.String() + "\n")
		want = append(want, strings.Join(words[1:], "|"))
	}
	program := "p() { i=; for w; do printf '%s%s' \"$i\" \"$w\"; i='|'; done; printf '\\0'; }\n" + script.String()
	out, err := exec.Command(sh, "-c", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SplitCommand (-) and %s (+) differ:\n%s", sh, diff)
	}
}

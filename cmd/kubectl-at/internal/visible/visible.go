// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package visible shows all characters of a text that another user wrote. It is pure.
package visible

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// invisible are characters that count as printable, but show nothing. Text behind many of them looks as if it were not
// there.
var invisible = rangetable.Merge(unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, rangetable.New('\u2800'))

// Escape escapes the characters of a text that are neither visible nor blanks nor in except.
func Escape(text, except string) string {
	var escaped strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) && !unicode.Is(invisible, r) || strings.ContainsRune(except, r) {
			escaped.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		escaped.WriteString(quoted[1 : len(quoted)-1])
	}
	return escaped.String()
}

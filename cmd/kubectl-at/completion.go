// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func newCompletionCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use:   "completion (bash|zsh|fish)",
		Short: "Print the completion script of a shell",
		Long: templates.LongDesc(`
			Print the script that completes the command kubectl-at in a shell.

			To complete "kubectl at", put the program kubectl_complete-at, which comes with the plugin, into your PATH.`),
		Example: templates.Examples(`
			# Complete kubectl-at in this bash
			source <(kubectl at completion bash)`),
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             []string{"bash", "zsh", "fish"},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(p.Out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(p.Out)
			default:
				return cmd.Root().GenFishCompletion(p.Out, true)
			}
		},
	}
}

// completeTime offers how a time begins, and the words that follow.
func completeTime(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return []string{"now", "today", "tomorrow", "noon", "midnight", "teatime", "next"}, cobra.ShellCompDirectiveNoFileComp
	}
	if slices.Contains(args, "+") {
		return []string{"seconds", "minutes", "hours", "days", "weeks", "months", "years"}, cobra.ShellCompDirectiveNoFileComp
	}
	return strings.Fields("today tomorrow next monday tuesday wednesday thursday friday saturday sunday"), cobra.ShellCompDirectiveNoFileComp
}

// completeName offers the Ats of the namespace, for the first argument.
func (p *plugin) completeName(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completeNames(cmd, args, prefix)
}

// completeNames offers the Ats of the namespace that are not among the arguments.
func (p *plugin) completeNames(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list := &cnatv1alpha1.AtList{}
	if err := c.List(cmd.Context(), list, client.InNamespace(c.namespace)); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, at := range list.Items {
		if strings.HasPrefix(at.Name, prefix) && !slices.Contains(args, at.Name) {
			names = append(names, at.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

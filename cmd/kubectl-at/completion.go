// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/util/templates"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completionPatience is how long an API server may take to answer when a user has pressed Tab.
const completionPatience = 5 * time.Second

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

// completeName offers the Ats of the namespace for the first argument, and for the others what TIME can be, if the command takes one.
func (p *plugin) completeName(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return p.completeNames(cmd, args, prefix)
	case strings.Contains(cmd.Use, "TIME"):
		return completeTime(cmd, args[1:], prefix)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeNames offers the Ats of the namespace that are not among the arguments, in the form that the prefix has.
func (p *plugin) completeNames(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	kind, _, qualified := strings.Cut(prefix, "/")
	form := ""
	if qualified && findKind(kind) == atKind {
		form = kind + "/"
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(atKind.GroupVersion().WithKind("AtList"))
	names, directive := p.completeObjects(cmd, list, form, prefix)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
}

// completeObjects offers the names of the objects that an API server lists, each behind form.
func (p *plugin) completeObjects(cmd *cobra.Command, list *metav1.PartialObjectMetadataList, form, prefix string) ([]string, cobra.ShellCompDirective) {
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	var in []client.ListOption
	if list.Kind != "NamespaceList" {
		in = append(in, client.InNamespace(c.namespace))
	}
	if err := c.List(ctx, list, in...); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		if name := form + list.Items[i].Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFrom offers kinds and, behind a kind, the objects of the namespace.
func (p *plugin) completeFrom(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	kind, _, qualified := strings.Cut(prefix, "/")
	if !qualified {
		var kinds []string
		for _, s := range sources {
			kinds = append(kinds, s.names[len(s.names)-1]+"/")
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	found := findKind(kind)
	if found.Empty() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(found.GroupVersion().WithKind(found.Kind + "List"))
	return p.completeObjects(cmd, list, kind+"/", prefix)
}

// completePodFlags completes the flags that describe the command and its pod.
func (o *createOptions) completePodFlags(cmd *cobra.Command) {
	complete(cmd, "from", o.completeFrom)
	complete(cmd, "serviceaccount", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return o.completeObjects(cmd, partialList("ServiceAccount"), "", prefix)
	})
	for _, flag := range []string{"image", "env", "label", "annotation"} {
		completeValues(cmd, flag)
	}
}

// partialList returns an empty list of a kind of the core group.
func partialList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
	return list
}

// completeGlobalFlags completes the flags of kubectl.
func (p *plugin) completeGlobalFlags(root *cobra.Command) {
	complete(root, "namespace", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return p.completeObjects(cmd, partialList("Namespace"), "", prefix)
	})
	completeConfig := func(flag string, names func(clientcmdapi.Config) []string) {
		complete(root, flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			config, err := p.config.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return slices.DeleteFunc(names(config), func(name string) bool { return !strings.HasPrefix(name, prefix) }), cobra.ShellCompDirectiveNoFileComp
		})
	}
	completeConfig("context", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) })
	completeConfig("cluster", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) })
	completeConfig("user", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) })
	completeValues(root, "tz", "Local", "UTC")
}

// completeOutput completes -o.
func completeOutput(cmd *cobra.Command, flags *genericclioptions.PrintFlags) {
	completeValues(cmd, "output", flags.AllowedFormats()...)
}

// completeValues completes a flag with values, or with nothing, instead of files.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func complete(cmd *cobra.Command, flag string, function cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, function); err != nil {
		panic(err) // not reached: every flag is there, and is completed once
	}
}

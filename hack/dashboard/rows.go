// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

func rows() []row {
	return []row{
		{"Ats", []panel{
			{"Waiting", "none", 4, true, []query{{`max(podset_operator_ats{job="podset-operator",phase="PENDING"})`, ""}}},
			{"Running", "none", 4, true, []query{{`max(podset_operator_ats{job="podset-operator",phase="RUNNING"})`, ""}}},
			{"Failed in the last 24 hours", "none", 4, true, []query{
				{`sum(increase(podset_operator_at_runs_total{job="podset-operator",result="Failed",reason!="Canceled"}[24h]))`, ""},
			}},
			{"Runs per hour", "none", 12, false, []query{
				{`sum by (result, reason) (increase(podset_operator_at_runs_total` + job + `[1h])) > 0`, "{{result}}: {{reason}}"},
			}},
			{"Ats by phase", "none", 12, false, []query{{`max by (phase) (podset_operator_ats` + job + `)`, "{{phase}}"}}},
			{"Delay from the time of an At to the creation of its pod", "s", 12, false, []query{
				{`histogram_quantile(0.5, sum by (le) (rate(podset_operator_at_start_delay_seconds_bucket` + job + `[5m])))`, "50%"},
				{`histogram_quantile(0.99, sum by (le) (rate(podset_operator_at_start_delay_seconds_bucket` + job + `[5m])))`, "99%"},
			}},
		}},
		{"PodSets", []panel{
			{"PodSets", "none", 4, true, []query{{`max(podset_operator_podsets` + job + `)`, ""}}},
			{"Namespaces that cannot be read", "none", 4, true, []query{
				{`sum(max by (target_namespace) (podset_operator_namespace_unreadable` + job + `)) or vector(0)`, ""},
			}},
			{"Pods", "none", 8, false, []query{
				{`max(podset_operator_podset_desired_pods` + job + `)`, "desired"},
				{`max(podset_operator_podset_ready_pods` + job + `)`, "ready"},
			}},
			{"Creates of pods that the API server rejected, per minute", "none", 8, false, []query{
				{`60 * sum by (kind) (rate(podset_operator_rejected_creates_total` + job + `[5m]))`, "{{kind}}"},
			}},
		}},
		{"Manager", []panel{
			{"Managers", "none", 4, true, []query{{`count(up` + job + ` == 1)`, ""}}},
			{"Reconciles per second", "ops", 10, false, []query{
				{`sum by (controller, result) (rate(controller_runtime_reconcile_total` + job + `[5m]))`, "{{controller}}: {{result}}"},
			}},
			{"Duration of 99% of the reconciles", "s", 10, false, []query{
				{`histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket` + job + `[5m])))`, "{{controller}}"},
			}},
			{"Objects in the work queues", "none", 8, false, []query{{`sum by (name) (workqueue_depth` + job + `)`, "{{name}}"}}},
			{"Requests to the API server per second", "ops", 8, false, []query{
				{`sum by (method, code) (rate(rest_client_requests_total` + job + `[5m]))`, "{{method}} {{code}}"},
			}},
			{"Reconciles repeated because of a stale cache, and name collisions, per minute", "none", 8, false, []query{
				{`60 * sum by (kind) (rate(podset_operator_stale_cache_conflicts_total` + job + `[5m]))`, "stale cache: {{kind}}"},
				{`60 * sum by (kind) (rate(podset_operator_pod_name_collisions_total` + job + `[5m]))`, "name collision: {{kind}}"},
			}},
			{"Memory", "bytes", 12, false, []query{{`process_resident_memory_bytes` + job, "{{pod}}"}}},
			{"CPU", "none", 12, false, []query{{`rate(process_cpu_seconds_total` + job + `[5m])`, "{{pod}}"}}},
		}},
		{"Objects (need the configuration of kube-state-metrics)", []panel{
			{"Ats that have failed", "none", 12, false, []query{
				{`kube_at_status_result{result="Failed",reason!="Canceled"}`, "{{namespace}}/{{at}}: {{reason}}"},
			}},
			{"Pods that PodSets lack", "none", 12, false, []query{
				{`kube_podset_spec_replicas - on (namespace, podset) kube_podset_status_ready_replicas > 0`, "{{namespace}}/{{podset}}"},
			}},
		}},
	}
}

// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"errors"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// webhookAnswer matches the beginning of what the API server says about an admission webhook: it could not be called,
// its answer could not be used, or it denied the request. A webhook chooses only what follows its name, and the code of
// a denial.
var webhookAnswer = regexp.MustCompile(`^(?:Internal error occurred: )?(?:failed calling|admission) webhook "([^"]+)"`)

// Webhook returns the name of the admission webhook that failed or denied a write, or "" if no answer of the API server
// proves one. Such a write was not carried out, and neither the operator nor the API server is the cause. A denial can
// have any code: webhooks report their own failure as 500. Without an answer, the cause is unknown: a request that
// timed out may have waited for a webhook or for the API server.
func Webhook(err error) string {
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	if match := webhookAnswer.FindStringSubmatch(status.Status().Message); match != nil {
		return match[1]
	}
	return ""
}

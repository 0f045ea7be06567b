// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// armUser is whom every arm is to the API server: a service account, as an operator is. An administrator would be exempt
// from API priority and fairness.
const armUser = "system:serviceaccount:bench:arm"

// cluster is etcd and kube-apiserver: no scheduler, no nodes, no controllers but the arm that is measured.
type cluster struct {
	environment *envtest.Environment
	// admin is the harness, without limits.
	admin client.WithWatch
	// config is the administrator's, and arm that of every arm.
	config, arm *rest.Config
	// directory holds the kubeconfig of the arms and their logs; token lets the harness read their metrics.
	directory, kubeconfig, token string
	// own counts the harness's own requests.
	own *ledger
	// audit is where the API server writes down the calls of the arms; "": it does not.
	audit auditLog
	// cleared is etcd's revision when a run was last cleared away, and compacted the one before which there is no history.
	cleared, compacted int64
}

// clusterOptions are how an API server differs from the others.
type clusterOptions struct {
	// audited says that it writes down the calls of the arms.
	audited bool
	// listsOnly says that it does not stream lists, as Kubernetes 1.31 and 1.33 do not by default.
	listsOnly bool
}

func startCluster(ctx context.Context, assets, crds, directory string, options clusterOptions) (*cluster, error) {
	c := &cluster{
		environment: &envtest.Environment{
			BinaryAssetsDirectory: assets, CRDDirectoryPaths: []string{crds}, ErrorIfCRDPathMissing: true,
		},
		directory:  directory,
		kubeconfig: filepath.Join(directory, "kubeconfig"),
		own:        newLedger(),
	}
	// The default of etcd, 2 GiB, is too small for M12.
	c.environment.ControlPlane.Etcd = &envtest.Etcd{}
	c.environment.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592")
	flags := c.environment.ControlPlane.GetAPIServer().Configure().Append("delete-collection-workers", "16")
	// Nobody compacts etcd but the harness, between the runs.
	flags.Append("etcd-compaction-interval", "0")
	// About every six minutes, the API server would read all objects from etcd and compare them with its cache. With 60,000 Ats, this takes
	// 14 s on two slow cores, and a restart of the operator meanwhile takes longer.
	flags.Append("feature-gates", "DetectCacheInconsistency=false")
	if options.listsOnly {
		flags.Append("feature-gates", "WatchList=false")
	}
	var err error
	if options.audited {
		if c.audit, err = newAuditLog(c.environment, directory); err != nil {
			return nil, err
		}
	}
	if c.config, err = c.environment.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting etcd and kube-apiserver: %w", err), c.stop())
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) stop() error { return c.environment.Stop() }

func (c *cluster) connect(ctx context.Context) error {
	c.config.QPS = -1
	harness := rest.CopyConfig(c.config)
	harness.Wrap(c.own.record)
	var err error
	if c.admin, err = client.NewWithWatch(harness, client.Options{Scheme: newScheme()}); err != nil {
		return err
	}
	user, err := c.environment.AddUser(envtest.User{Name: armUser, Groups: []string{"system:serviceaccounts"}}, c.config)
	if err != nil {
		return err
	}
	c.arm = user.Config()
	c.arm.QPS = -1
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.kubeconfig, kubeconfig, 0o600); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "scraper"}}
	subject := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
	for _, obj := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}},
		account,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "bench"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{subject(armUser), subject("system:serviceaccount:bench:scraper")},
		},
	} {
		if err := c.admin.Create(ctx, obj); err != nil {
			return err
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 3600))}}
	if err := c.admin.SubResource("token").Create(ctx, account, request); err != nil {
		return err
	}
	c.token = request.Status.Token
	return nil
}

// namespace makes a fresh namespace.
func (c *cluster) namespace(ctx context.Context) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"}}
	err := c.admin.Create(ctx, ns) // It fills in the name.
	return ns.Name, err
}

// clear deletes what a run has left, and compacts etcd.
func (c *cluster) clear(ctx context.Context, namespace string) error {
	for _, k := range []kind{podSets, replicaSets, ats, cronJobs, jobs, pods, eventsKind} {
		if err := c.deleteAll(ctx, namespace, k); err != nil {
			return err
		}
	}
	return c.compact(ctx)
}

// deleteAll deletes all objects of a kind. A request for many objects can take longer than the API server allows. It has deleted some of
// them, so it is repeated.
func (c *cluster) deleteAll(ctx context.Context, namespace string, k kind) error {
	return eventually(ctx, patience, "the deletion of all of "+k.Kind, func() (bool, error) {
		err := c.admin.DeleteAllOf(ctx, k.object("", ""), client.InNamespace(namespace), client.GracePeriodSeconds(0),
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if apierrors.IsTimeout(err) {
			return false, nil
		}
		return true, err
	})
}

// collectGarbage collects the garbage of the API server and returns how many MiB of its memory are in use then. A run of a second can take
// up to 1.7 times as long if the API server collects garbage meanwhile, so fills, runs of bare clients, and bursts begin with a collection.
func (c *cluster) collectGarbage(ctx context.Context) (float64, error) {
	admin, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return 0, err
	}
	return liveMiB(ctx, admin, strings.TrimSuffix(c.config.Host, "/"))
}

// compact drops the history of etcd up to the last time it was called, so that every run starts with about the same. What is
// newer stays: the API server may still be reading it, and closes every watch when it cannot.
func (c *cluster) compact(ctx context.Context) error {
	revision, err := c.revision(ctx)
	if err != nil {
		return err
	}
	last := c.cleared
	c.cleared = revision
	return c.compactTo(ctx, last)
}

// compactTo drops the history of etcd before a revision, unless it was dropped already, which etcd rejects.
func (c *cluster) compactTo(ctx context.Context, revision int64) error {
	if revision <= c.compacted {
		return nil
	}
	c.compacted = revision
	return postJSON(ctx, c.etcdURL("/v3/kv/compaction"), fmt.Sprintf(`{"revision":"%d","physical":true}`, revision), nil)
}

// storedMiB is the size of all objects in etcd, without their history. Everything is at rest, so the API server reads none of it.
func (c *cluster) storedMiB(ctx context.Context) (float64, error) {
	revision, err := c.revision(ctx)
	if err != nil {
		return 0, err
	}
	if err := c.compactTo(ctx, revision); err != nil {
		return 0, err
	}
	// Pages that the compaction has freed count as used until later transactions.
	if err := postJSON(ctx, c.etcdURL("/v3/maintenance/defragment"), "{}", nil); err != nil {
		return 0, err
	}
	status, err := c.etcdStatus(ctx)
	if err != nil {
		return 0, err
	}
	bytes, err := strconv.ParseFloat(status.DBSizeInUse, 64)
	return bytes / (1 << 20), err
}

// revision is the current revision of etcd.
func (c *cluster) revision(ctx context.Context) (int64, error) {
	status, err := c.etcdStatus(ctx)
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseInt(status.Header.Revision, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading etcd's revision: %w", err)
	}
	return revision, nil
}

// etcdStatus is a part of what etcd tells about itself.
type etcdStatus struct {
	Header      struct{ Revision string }
	DBSizeInUse string
}

func (c *cluster) etcdStatus(ctx context.Context) (etcdStatus, error) {
	var status etcdStatus
	err := postJSON(ctx, c.etcdURL("/v3/maintenance/status"), "{}", &status)
	return status, err
}

func (c *cluster) etcdURL(path string) string {
	return c.environment.ControlPlane.Etcd.URL.JoinPath(path).String()
}

// postJSON sends JSON and decodes the answer, unless there is nothing to decode it into.
func postJSON(ctx context.Context, url, body string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	data, err := fetch(http.DefaultClient, req)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(data, answer)
}

// eventually calls check until it is true: every 50 ms, or every fiftieth of the time so far if that is longer, because a check can slow
// the operator down.
func eventually(ctx context.Context, limit time.Duration, what string, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for began := time.Now(); ; {
		if ok, err := check(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(max(50*time.Millisecond, time.Since(began)/50)):
		}
	}
}

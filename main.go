// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command podset-operator runs the controllers of PodSets and Ats in one manager.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/operator-framework/operator-lib/proxy"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/internal/kube/process"
	"github.com/redhat/podset-operator/internal/kube/serverclock"
	"github.com/redhat/podset-operator/internal/watchnamespace"
)

// version is set by the linker.
var version = "unknown"

// leaseRetryPeriod is how often the leader renews the lease, and how often a replica that waits checks it, with up to 1.2 times
// as much added at random. A leader that ends releases the lease, so another replica takes over within 2.2 s.
const leaseRetryPeriod = time.Second

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "podset-operator:", err)
		}
		os.Exit(1)
	}
}

// options are the values of the flags and of WATCH_NAMESPACE.
type options struct {
	leaderElect    bool
	leaseNamespace string
	metricsAddr    string
	metricsCerts   string
	probeAddr      string
	pprofAddr      string
	logging        zap.Options
	watch          []string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("podset-operator", flag.ContinueOnError)
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "Use leader election, so that only one of several replicas works at a time.")
	flags.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", "", "Namespace of the lease. If empty, the namespace that the manager runs in.")
	flags.StringVar(&o.metricsAddr, "metrics-bind-address", ":8443", "Address of the metrics, served over HTTPS to authorized clients. 0 disables them.")
	flags.StringVar(&o.metricsCerts, "metrics-cert-dir", "", "Directory with tls.crt and tls.key for the metrics. If empty, the certificate is self-signed.")
	flags.StringVar(&o.probeAddr, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz. 0 disables them.")
	flags.StringVar(&o.pprofAddr, "pprof-bind-address", "0", "Address of the Go profiles, served over HTTP without authentication. 0 disables them.")
	config.RegisterFlags(flags)
	o.logging.BindFlags(flags)
	encoding := flags.Lookup("zap-time-encoding") // controller-runtime has another default than the usage says
	encoding.Usage = strings.Replace(encoding.Usage, "Defaults to 'epoch'", "Defaults to 'rfc3339'", 1)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: only flags are allowed, see -help", flags.Arg(0))
	}
	o.leaseNamespace = cmp.Or(o.leaseNamespace, process.PodNamespace())
	if o.leaderElect && o.leaseNamespace == "" {
		return o, errors.New("--leader-elect outside a pod needs --leader-elect-resource-namespace: the namespace of the lease is that of the pod")
	}
	var err error
	o.watch, err = watchnamespace.Parse(os.Getenv(watchnamespace.EnvVar))
	return o, err
}

// run runs the manager until ctx is done. It returns an error if the manager cannot start or cannot continue.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := process.LimitMemory(); err != nil {
		return err
	}
	restConfig, err := clusterConfig() // before there is a log, because controller-runtime logs the error too
	if err != nil {
		return err
	}
	logger := logr.New(process.Quiet(ctx, zap.New(zap.UseFlagOptions(&o.logging)).GetSink()))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	probes, err := process.ServeProbes(ctx, o.probeAddr)
	if err != nil {
		return err
	}
	defer probes.Close()

	serverClock := serverclock.New(clock.RealClock{})
	restConfig.Wrap(serverClock.RoundTripper)
	scheme := newScheme()
	cluster, err := controllers.Preflight(ctrl.LoggerInto(ctx, logger), clock.RealClock{}, restConfig, scheme, o.watch)
	if ctx.Err() != nil {
		return nil // Interrupted while waiting for the API server.
	}
	if err != nil {
		return err
	}
	var lock *process.LeaseLock
	if o.leaderElect {
		if lock, err = process.NewLeaseLock(restConfig, o.leaseNamespace); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(restConfig, managerOptions(o, scheme, cluster, lock))
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if err := lock.AddTo(mgr); err != nil {
		return err
	}
	if err := setup(ctx, mgr, cluster, serverClock); err != nil {
		return err
	}
	if err := process.AddMetrics(mgr, clock.RealClock{}, o.metricsAddr, o.metricsCerts); err != nil {
		return err
	}
	starts := mgr.Elected()
	if o.leaderElect {
		starts = nil
	}
	probes.SetManager(starts, lock, mgr.GetCache())
	logger.Info("Starting", "version", version, "watching", watchnamespace.Mode(o.watch), "openshift", cluster.OpenShift)
	return mgr.Start(ctx)
}

// clusterConfig returns the configuration of the client, from --kubeconfig, KUBECONFIG, or the service account of the pod.
func clusterConfig() (*rest.Config, error) {
	c, err := config.GetConfig()
	if err != nil {
		for _, file := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
			if _, missing := os.Stat(file); missing != nil {
				err = fmt.Errorf("KUBECONFIG: %w", missing)
			}
		}
		return nil, fmt.Errorf("no cluster to work on: %w; set KUBECONFIG or --kubeconfig", err)
	}
	c.QPS = -1 // No limit here: priority and fairness of the API server limits the requests.
	c.UserAgent = "podset-operator/" + version
	// Since Kubernetes 1.37, the API server would compress each event separately in a watch that began with a streamed list, which slows
	// it down: see docs/performance.md. kube-controller-manager does not ask for compression either.
	c.DisableCompression = true
	return c, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme))
	return scheme
}

// setup adds the controllers, the metrics, and the release of garbage to mgr.
func setup(ctx context.Context, mgr ctrl.Manager, cluster *controllers.PreflightResult, serverClock *serverclock.Clock) error {
	recorder, err := process.LimitEvents(ctx, mgr)
	if err != nil {
		return err
	}
	options := controllers.Options{
		Clock: serverClock, Image: cmp.Or(os.Getenv("RELATED_IMAGE_BUSYBOX"), "busybox"), OpenShift: cluster.OpenShift,
		Proxy: proxy.ReadProxyVarsFromEnv(), NewRecorder: recorder,
	}
	return errors.Join(
		controllers.Add(ctx, mgr, options),
		controllers.RegisterMetrics(mgr),
		controllers.AddUpgradeable(mgr, serverClock),
		mgr.Add(cluster.Namespaces),
		// It begins when the process starts to lead, as the controllers do.
		mgr.Add(manager.RunnableFunc(process.ReleaseGarbage)),
	)
}

func managerOptions(o options, scheme *runtime.Scheme, cluster *controllers.PreflightResult, lock *process.LeaseLock) ctrl.Options {
	options := ctrl.Options{
		Scheme:                        scheme,
		MapperProvider:                func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return cluster.Mapper, nil },
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              process.LeaseName, // a label of the metrics
		RetryPeriod:                   ptr.To(leaseRetryPeriod),
		LeaderElectionReleaseOnCancel: true, // The process ends when run returns, so nothing works without the lease.
		HealthProbeBindAddress:        "0",  // See process.ServeProbes.
		PprofBindAddress:              o.pprofAddr,
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // See process.AddMetrics.
	}
	controllers.ConfigureCaches(&options, o.watch)
	cluster.Namespaces.TolerateUnreadable(&options.Cache)
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	return options
}

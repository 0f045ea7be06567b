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
	"io"
	"net/http"
	"os"
	"time"

	"github.com/operator-framework/operator-lib/proxy"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
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
	"github.com/redhat/podset-operator/internal/kube/warnings"
	"github.com/redhat/podset-operator/internal/watchnamespace"
)

// version is set by the linker.
var version = "unknown"

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			o.logEnd(err)
		}
		os.Exit(1)
	}
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		o.logEnd(process.NameVariables(err, o.fromEnv))
		os.Exit(1)
	}
}

// logEnd logs the last line, which becomes the message of a container that ended.
func (o *options) logEnd(err error) {
	zap.New(zap.UseFlagOptions(&o.logging)).Error(err, "The manager ends")
}

// options are the values of the flags and of WATCH_NAMESPACE.
type options struct {
	leaderElect                               bool
	leaseNamespace                            string
	leaseDuration, renewDeadline, retryPeriod time.Duration
	qps                                       float64
	burst                                     int
	metrics                                   process.Metrics
	probeAddr, pprofAddr                      process.Address
	pullSecrets                               process.Secrets
	logCommands                               bool
	logging                                   zap.Options
	watch                                     []string
	metricsServer                             metricsserver.Options
	flags                                     *flag.FlagSet
	fromEnv                                   []string // the flags that environment variables have set
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("podset-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // A mistake is one line.
	o := options{flags: flags}
	o.define(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stderr)
			flags.Usage()
		}
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: only flags are allowed, see -help", flags.Arg(0))
	}
	var err error
	if o.fromEnv, err = process.SetFromEnv(flags, os.Getenv); err != nil {
		return o, err
	}
	o.leaseNamespace = cmp.Or(o.leaseNamespace, os.Getenv("POD_NAMESPACE"))
	if o.watch, err = watchnamespace.Parse(os.Getenv(watchnamespace.EnvVar)); err != nil {
		return o, err
	}
	if o.metricsServer, err = o.metrics.Options(); err == nil && (o.qps == 0 || o.burst <= 0) {
		err = fmt.Errorf("--kube-api-qps=%v must not be 0, and --kube-api-burst=%d must be greater than 0; --kube-api-qps=-1 disables the limit", o.qps, o.burst)
	}
	return o, process.NameVariables(err, o.fromEnv)
}

// define defines the flags and their defaults.
func (o *options) define(flags *flag.FlagSet) {
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "Use leader election, so that only one of several replicas is active.")
	flags.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", "", "Namespace of the lease. If empty, the namespace that the manager runs in.")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long a lease lasts if it is not renewed. After that, another replica takes over.")
	flags.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long a leader tries to renew its lease before it exits.")
	flags.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How often a leader renews its lease, and how often the other replicas check it.")
	flags.Float64Var(&o.qps, "kube-api-qps", -1, "Requests per second to the API server. -1 disables the limit: the API server limits requests by priority and fairness.")
	flags.IntVar(&o.burst, "kube-api-burst", 30, "Burst of requests above --kube-api-qps. Ignored if that is -1.")
	o.metrics.Address, o.probeAddr, o.pprofAddr = ":8443", ":8081", "0"
	flags.Var(&o.metrics.Address, "metrics-bind-address", "Address of the metrics, served over HTTPS to authorized clients. 0 disables them.")
	flags.BoolVar(&o.metrics.Secure, "metrics-secure", true, "Serve the metrics over HTTPS to authorized clients. If false, over HTTP to every client.")
	flags.StringVar(&o.metrics.CertDir, "metrics-cert-dir", "", "Directory with tls.crt and tls.key for the metrics. Without these files, the certificate is self-signed.")
	flags.StringVar(&o.metrics.MinVersion, "metrics-tls-min-version", "VersionTLS12", "Lowest version of TLS for the metrics: VersionTLS12 or VersionTLS13.")
	flags.StringVar(&o.metrics.CipherSuites, "metrics-tls-cipher-suites", "", "Names of the cipher suites of TLS 1.2 for the metrics, separated by commas. If empty, those of Go.")
	flags.Var(&o.probeAddr, "health-probe-bind-address", "Address of /healthz and /readyz. 0 disables them.")
	flags.Var(&o.pprofAddr, "pprof-bind-address", "Address of the Go profiles, served over HTTP without authentication. 0 disables them.")
	flags.Var(&o.pullSecrets, "default-image-pull-secrets", "Names of Secrets in the namespace of a pod, separated by commas. Pods of PodSets and Ats without a template use them, instead of those of their service account.")
	flags.BoolVar(&o.logCommands, "log-commands", true, "Log up to 256 bytes of the command of each At that ends. If false, the log has no commands.")
	config.RegisterFlags(flags)
	o.logging.StacktraceLevel = zapcore.PanicLevel // The stack of an error would have only functions of libraries.
	o.logging.EncoderConfigOptions = []zap.EncoderConfigOption{process.KnownLevels}
	o.logging.BindFlags(flags)
}

// run runs the manager until ctx is done. It returns an error if the manager cannot start or cannot continue.
func run(ctx context.Context, o options) error {
	if err := process.LimitMemory(); err != nil {
		return err
	}
	logger := zap.New(zap.UseFlagOptions(&o.logging), process.Quiet(ctx))
	process.CaptureLogs(logger)
	restConfig, err := process.ClusterConfig(o.qps, o.burst) // before ctrl.SetLogger, because controller-runtime logs the error too
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger)
	restConfig.UserAgent = "podset-operator/" + version
	restConfig.WarningHandlerWithContext = &warnings.Handler{}
	for _, name := range process.UnknownVariables(o.flags, os.Environ()) {
		logger.Info("No flag belongs to this environment variable, which has no effect", "variable", name)
	}
	o.flags.VisitAll(func(f *flag.Flag) { logger.V(1).Info("Flag", "name", f.Name, "value", f.Value.String()) })
	lease := &process.Lease{}
	probes, err := process.ServeProbes(ctx, o.probeAddr, lease)
	if err != nil {
		return err
	}
	serverClock := serverclock.New(clock.RealClock{})
	restConfig.Wrap(serverClock.RoundTripper)
	scheme := newScheme()
	cluster, err := controllers.Preflight(ctrl.LoggerInto(ctx, logger), clock.RealClock{}, restConfig, scheme, o.watch)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // Interrupted while waiting for the API server.
	}
	if err != nil {
		return err
	}
	options := managerOptions(o, scheme, cluster)
	options.LeaderElectionConfig = lease.Config(restConfig)
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	if err := setup(ctx, mgr, o, cluster, serverClock); err != nil {
		return err
	}
	probes.SetCache(mgr.GetCache())
	logger.Info("Starting", "version", version, "watching", watchnamespace.Mode(o.watch), "openshift", cluster.OpenShift)
	return mgr.Start(ctx)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme))
	return scheme
}

// setup adds the controllers, the metrics, and the release of garbage to mgr.
func setup(ctx context.Context, mgr ctrl.Manager, o options, cluster *controllers.PreflightResult, serverClock *serverclock.Clock) error {
	recorder, err := process.LimitEvents(ctx, mgr)
	if err != nil {
		return err
	}
	options := controllers.Options{
		Clock: serverClock, Image: cmp.Or(os.Getenv("RELATED_IMAGE_BUSYBOX"), "busybox"), PullSecrets: o.pullSecrets,
		OpenShift: cluster.OpenShift, Proxy: proxy.ReadProxyVarsFromEnv(), NewRecorder: recorder,
		OmitCommands: !o.logCommands,
	}
	return errors.Join(
		controllers.Add(ctx, mgr, options),
		controllers.RegisterMetrics(mgr),
		controllers.AddUpgradeable(mgr, serverClock),
		mgr.Add(cluster.Namespaces),
		mgr.Add(manager.RunnableFunc(process.ReleaseGarbage)), // when the process starts to lead, as the controllers do
	)
}

func managerOptions(o options, scheme *runtime.Scheme, cluster *controllers.PreflightResult) ctrl.Options {
	options := ctrl.Options{
		Scheme:                  scheme,
		MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return cluster.Mapper, nil },
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        process.LeaseName, // a label of the metrics
		LeaderElectionNamespace: o.leaseNamespace,
		LeaseDuration:           &o.leaseDuration, RenewDeadline: &o.renewDeadline, RetryPeriod: &o.retryPeriod,
		LeaderElectionReleaseOnCancel: true, // The process ends when run returns, so nothing works without the lease.
		HealthProbeBindAddress:        "0",  // See process.ServeProbes.
		PprofBindAddress:              string(o.pprofAddr),
		Metrics:                       o.metricsServer,
	}
	controllers.ConfigureCaches(&options, o.watch)
	cluster.Namespaces.TolerateUnreadable(&options.Cache)
	return options
}

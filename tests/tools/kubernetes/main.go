// One static binary that holds every program of a one-node Kubernetes cluster.
//
// The name that it is called by decides which program runs, so the tests start it through links named
// etcd, kube-apiserver, kubelet, ... One module pins all versions and one link step builds them all,
// which costs a fraction of building each program alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata"

	"github.com/coredns/coredns/coremain"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

type program struct {
	run func()
	// Whether the program reads flags that its packages registered on the standard flag set.
	// The others must not see them: kube-proxy would take CoreDNS's -version for its own.
	standardFlags bool
}

var programs = map[string]program{
	"coredns":                 {run: coremain.Run, standardFlags: true},
	"etcd":                    {run: func() { etcdmain.Main(os.Args) }},
	"kube-apiserver":          {run: func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) }},
	"kube-controller-manager": {run: func() { os.Exit(cli.Run(controllers.NewControllerManagerCommand())) }},
	"kube-proxy":              {run: func() { os.Exit(cli.Run(proxy.NewProxyCommand())) }},
	"kube-scheduler":          {run: func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) }},
	"kubectl":                 {run: runKubectl},
	"kubelet": {
		run:           func() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) },
		standardFlags: true,
	},
}

func runKubectl() {
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl: log verbosity:", err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func main() {
	name := filepath.Base(os.Args[0])
	chosen, known := programs[name]
	if !known {
		names := make([]string, 0, len(programs))
		for each := range programs {
			names = append(names, each)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "no program is called %q: call this file through a link named %s\n",
			name, strings.Join(names, ", "))
		os.Exit(2)
	}
	if !chosen.standardFlags {
		flag.CommandLine = flag.NewFlagSet(name, flag.ExitOnError)
	}
	chosen.run()
}

// Package e2e is the part of Kubernetes' own end-to-end suite that an embedded cluster is tested
// with: the specs of scheduling and of workloads, without the rest of the suite and its providers.
//
// tools/kube/build-e2e.sh builds it, and tools/conformance runs it (`make conformance`).
package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/node"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	// Their specs.
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/scheduling"

	// What a failed spec prints of its namespace.
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
)

var results = flag.String("results", os.DevNull, "Gets a line of JSON about each spec, as soon as it has ended.")

// result is what tools/conformance reads.
type result struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message"`
}

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	// Manifests are part of the binary: nobody needs the sources of Kubernetes to run it.
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

// Some specs are skipped on clusters with too few nodes, so the nodes are counted first.
var _ = ginkgo.BeforeSuite(func(ctx context.Context) {
	client, err := framework.LoadClientset()
	framework.ExpectNoError(err, "no client for the cluster")
	nodes, err := node.GetReadySchedulableNodes(ctx, client)
	framework.ExpectNoError(err, "no nodes")
	framework.TestContext.CloudConfig.NumNodes = len(nodes.Items)
})

func write(spec ginkgo.SpecReport) {
	file, err := os.OpenFile(*results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	framework.ExpectNoError(err, "the results cannot be written")
	line := result{spec.FullText(), spec.State.String(), spec.RunTime.Seconds(), spec.FailureMessage()}
	framework.ExpectNoError(json.NewEncoder(file).Encode(line))
	framework.ExpectNoError(file.Close())
}

func TestE2E(t *testing.T) {
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	// Not earlier: the framework walks through all specs once without running them, and they seem
	// to pass then.
	ginkgo.ReportAfterEach(write)
	ginkgo.RunSpecs(t, "Kubernetes end-to-end specs", suite, reporter)
}

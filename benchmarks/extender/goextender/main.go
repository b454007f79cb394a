// Goextender is a scheduler extender as people usually write one in Go: net/http, encoding/json and
// the published types of Kubernetes. benchmarks.extender measures mooring against it.
//
//	goextender -port 8888           serve on 127.0.0.1:8888
//	goextender -marshal < in > out  write the ExtenderArgs on stdin anew, byte for byte as
//	                                kube-scheduler would send them
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

func main() {
	port := flag.Int("port", 8888, "port on 127.0.0.1")
	marshal := flag.Bool("marshal", false, "rewrite ExtenderArgs from stdin to stdout and exit")
	flag.Parse()

	if *marshal {
		if err := rewrite(os.Stdin, os.Stdout); err != nil {
			log.Fatalf("goextender: %v", err)
		}
		return
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("POST /filter", serve(filter))
	mux.HandleFunc("POST /prioritize", serve(prioritizeByName))
	mux.HandleFunc("POST /priorities/image_score", serve(prioritizeByImages))
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), mux))
}

// serve turns a function on ExtenderArgs into an HTTP handler.
func serve[Result any](answer func(*extenderv1.ExtenderArgs) Result) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args extenderv1.ExtenderArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(&args)); err != nil {
			log.Printf("goextender: writing a reply: %v", err)
		}
	}
}

// filter keeps nodes with an SSD. Of bare names it keeps those that do not end in 7.
func filter(args *extenderv1.ExtenderArgs) *extenderv1.ExtenderFilterResult {
	result := &extenderv1.ExtenderFilterResult{FailedNodes: extenderv1.FailedNodesMap{}}
	if args.Nodes != nil {
		result.Nodes = &v1.NodeList{}
		for i := range args.Nodes.Items {
			node := &args.Nodes.Items[i]
			if node.Labels["disktype"] == "ssd" {
				result.Nodes.Items = append(result.Nodes.Items, *node)
			} else {
				result.FailedNodes[node.Name] = "node has no SSD"
			}
		}
	}
	if args.NodeNames != nil {
		names := make([]string, 0, len(*args.NodeNames))
		for _, name := range *args.NodeNames {
			if strings.HasSuffix(name, "7") {
				result.FailedNodes[name] = "name ends in 7"
			} else {
				names = append(names, name)
			}
		}
		result.NodeNames = &names
	}
	return result
}

// prioritizeByName scores a node 0..10 by the last letter of its name.
func prioritizeByName(args *extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
	list := extenderv1.HostPriorityList{}
	add := func(name string) {
		score := int64(name[len(name)-1]) % (extenderv1.MaxExtenderPriority + 1)
		list = append(list, extenderv1.HostPriority{Host: name, Score: score})
	}
	if args.Nodes != nil {
		for i := range args.Nodes.Items {
			add(args.Nodes.Items[i].Name)
		}
	}
	if args.NodeNames != nil {
		for _, name := range *args.NodeNames {
			add(name)
		}
	}
	return list
}

// prioritizeByImages counts the pod's containers whose image is part of the name of an image on the node.
func prioritizeByImages(args *extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
	list := extenderv1.HostPriorityList{}
	if args.Nodes == nil {
		return list
	}
	for i := range args.Nodes.Items {
		node := &args.Nodes.Items[i]
		var score int64
		for j := range args.Pod.Spec.Containers {
			if hasImage(node, args.Pod.Spec.Containers[j].Image) {
				score++
			}
		}
		list = append(list, extenderv1.HostPriority{Host: node.Name, Score: score})
	}
	return list
}

func hasImage(node *v1.Node, image string) bool {
	for i := range node.Status.Images {
		for _, name := range node.Status.Images[i].Names {
			if strings.Contains(name, image) {
				return true
			}
		}
	}
	return false
}

// rewrite reads ExtenderArgs and writes them as kube-scheduler does, which calls json.Marshal on this type.
func rewrite(in io.Reader, out io.Writer) error {
	var args extenderv1.ExtenderArgs
	if err := json.NewDecoder(in).Decode(&args); err != nil {
		return err
	}
	body, err := json.Marshal(&args)
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of a Go binary: its modules, as the go command has recorded them in the binary, in
// the format SPDX 2.3. The same binary always gives the same output. $SOURCE_DATE_EPOCH is its time.
// usage: sbom NAME VERSION BINARY
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  creationInfo   `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID               string        `json:"SPDXID"`
	Name             string        `json:"name"`
	Version          string        `json:"versionInfo"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	License          string        `json:"licenseDeclared"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	ExternalRefs     []externalRef `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: sbom NAME VERSION BINARY")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("reading SOURCE_DATE_EPOCH: %w", err)
	}
	info, err := buildinfo.ReadFile(args[2])
	if err != nil {
		return err
	}
	content, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(describe(args[0], args[1], info, sha256.Sum256(content), time.Unix(seconds, 0).UTC()))
}

// describe returns the document for a binary with this digest.
func describe(name, version string, info *debug.BuildInfo, digest [sha256.Size]byte, created time.Time) document {
	const root = "SPDXRef-binary"
	sum := hex.EncodeToString(digest[:])
	doc := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace:    "https://" + info.Main.Path + "/sbom/" + sum,
		CreationInfo: creationInfo{Created: created.Format(time.RFC3339), Creators: []string{"Tool: podset-operator/hack/sbom"}},
		Packages: []pkg{{
			ID: root, Name: name, Version: version, DownloadLocation: "NOASSERTION", License: "Apache-2.0",
			Checksums: []checksum{{"SHA256", sum}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", root}},
	}
	modules := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for n, module := range modules {
		if module.Replace != nil {
			module = module.Replace
		}
		id := "SPDXRef-module-" + strconv.Itoa(n)
		doc.Packages = append(doc.Packages, pkg{
			ID: id, Name: module.Path, Version: module.Version, DownloadLocation: "NOASSERTION", License: "NOASSERTION",
			ExternalRefs: []externalRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + module.Path + "@" + module.Version}},
		})
		doc.Relationships = append(doc.Relationships, relationship{root, "CONTAINS", id})
	}
	return doc
}

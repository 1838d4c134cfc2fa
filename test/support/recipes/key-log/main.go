// Judges the key log of a running service by the readers of others: the notes, hashes and proofs of Go's checksum
// database, and those of transparency-dev. Usage: judge BASE VKEY [earlier checkpoints]
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(url string) []byte {
	reply, err := http.Get(url)
	must(err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	must(err)
	if reply.StatusCode != 200 {
		must(fmt.Errorf("%s answered %d", url, reply.StatusCode))
	}
	return body
}

// open verifies a checkpoint and returns what it says.
func open(text []byte, vkey string) (string, tlog.Tree) {
	verifier, err := note.NewVerifier(vkey)
	must(err)
	opened, err := note.Open(text, note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := base64.StdEncoding.DecodeString(lines[2])
	must(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], root)
	return lines[0], tree
}

// tiles reads tiles over HTTP. The paths of C2SP have neither the height nor the name of Go's.
type tiles struct {
	base string
	read map[string][]byte
}

func (tiles) Height() int { return 8 }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var read [][]byte
	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		if t.read[path] == nil {
			t.read[path] = get(t.base + "/" + path)
		}
		read = append(read, t.read[path])
	}
	return read, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// entries reads all entries from their bundles.
func entries(base string, size int64) [][]byte {
	var found [][]byte
	for first := int64(0); first < size; first += 256 {
		width := int(min(256, size-first))
		tile := tlog.Tile{H: 8, L: -1, N: first / 256, W: width}
		rest := get(base + "/" + strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1))
		for count := 0; count < width; count++ {
			length := binary.BigEndian.Uint16(rest)
			found = append(found, rest[2:2+length])
			rest = rest[2+length:]
		}
		if len(rest) > 0 {
			must(fmt.Errorf("a bundle has more than its entries"))
		}
	}
	return found
}

func hashes(of []tlog.Hash) [][]byte {
	var converted [][]byte
	for _, hash := range of {
		converted = append(converted, bytes.Clone(hash[:]))
	}
	return converted
}

func main() {
	base, vkey := os.Args[1], os.Args[2]
	origin, tree := open(get(base+"/checkpoint"), vkey)
	reader := tlog.TileHashReader(tree, tiles{base, map[string][]byte{}})
	hasher := rfc6962.DefaultHasher

	ranged := (&compact.RangeFactory{Hash: hasher.HashChildren}).NewEmptyRange(0)
	for index, entry := range entries(base, tree.N) {
		leaf := tlog.RecordHash(entry)
		path, err := tlog.ProveRecord(tree.N, int64(index), reader)
		must(err)
		must(tlog.CheckRecord(path, tree.N, tree.Hash, int64(index), leaf))
		must(proof.VerifyInclusion(hasher, uint64(index), uint64(tree.N), hasher.HashLeaf(entry), hashes(path), tree.Hash[:]))
		must(ranged.Append(hasher.HashLeaf(entry), nil))
	}
	root, err := ranged.GetRootHash(nil)
	must(err)
	if !bytes.Equal(root, tree.Hash[:]) {
		must(fmt.Errorf("the entries have another root"))
	}
	for _, file := range os.Args[3:] {
		text, err := os.ReadFile(file)
		must(err)
		_, earlier := open(text, vkey)
		path, err := tlog.ProveTree(tree.N, earlier.N, reader)
		must(err)
		must(tlog.CheckTree(path, tree.N, tree.Hash, earlier.N, earlier.Hash))
		must(proof.VerifyConsistency(hasher, uint64(earlier.N), uint64(tree.N), hashes(path), earlier.Hash[:], tree.Hash[:]))
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{"origin": origin, "size": tree.N, "compared": len(os.Args) - 3}))
}

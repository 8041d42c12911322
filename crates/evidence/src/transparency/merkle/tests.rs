//! Compares the tree with the definitions of RFC 6962, section 2.1, which are repeated here as reference code.

use proptest::prelude::*;

use super::*;

fn entry(number: u64) -> Vec<u8> {
    format!("entry {number}").into_bytes()
}

fn tree_of(size: u64) -> MerkleTree {
    MerkleTree::from_hashes((0..size).map(|number| hash_entry(&entry(number))))
}

fn entries(size: u64) -> Vec<Vec<u8>> {
    (0..size).map(entry).collect()
}

/// The RFC's function MTH(D[n]): the root of a tree.
fn reference_root(entries: &[Vec<u8>]) -> Digest {
    match entries {
        [] => Digest::of(b""),
        [one] => Digest::of(&[vec![0], one.clone()].concat()),
        several => {
            let k = reference_split(several.len());
            let (left, right) = (reference_root(&several[..k]), reference_root(&several[k..]));
            Digest::of(&[&[1], left.as_bytes().as_slice(), right.as_bytes()].concat())
        }
    }
}

fn reference_split(n: usize) -> usize {
    (0..).map(|power| 1 << power).take_while(|k| *k < n).last().expect("two or more")
}

/// The RFC's function PATH(m, D[n]): the proof that an entry is in the tree.
fn reference_path(m: usize, entries: &[Vec<u8>]) -> Vec<Digest> {
    if entries.len() == 1 {
        return Vec::new();
    }
    let k = reference_split(entries.len());
    let (mut path, other) = if m < k {
        (reference_path(m, &entries[..k]), reference_root(&entries[k..]))
    } else {
        (reference_path(m - k, &entries[k..]), reference_root(&entries[..k]))
    };
    path.push(other);
    path
}

#[test]
fn the_example_of_the_rfc_has_the_paths_it_shows() {
    let tree = tree_of(7);
    assert_eq!(tree.prove_inclusion(0, 7).unwrap().len(), 3);
    assert_eq!(tree.prove_inclusion(3, 7).unwrap().len(), 3);
    assert_eq!(tree.prove_inclusion(6, 7).unwrap().len(), 2);
}

#[test]
fn known_trees_have_their_published_roots() {
    // These inputs and the roots below are the published test vectors of Certificate Transparency's reference
    // implementation.
    let inputs: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let tree = MerkleTree::from_hashes(inputs.iter().map(|input| hash_entry(input)));
    for (size, root) in [
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ] {
        assert_eq!(tree.root_at(size).unwrap().hex(), root, "{size}");
    }
}

#[test]
fn a_tree_of_nothing_has_the_root_of_nothing() {
    let tree = MerkleTree::default();
    assert_eq!(tree.root_at(0), Some(Digest::of(b"")));
    assert_eq!((tree.root_at(1), tree.prove_inclusion(0, 0)), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn roots_and_proofs_are_those_of_the_definition(size in 1_u64..300, index in 0_u64..300) {
        let index = index % size;
        let (tree, entries) = (tree_of(299), entries(size));
        let root = reference_root(&entries);
        prop_assert_eq!(tree.root_at(size), Some(root));
        let path = tree.prove_inclusion(index, size).unwrap();
        prop_assert_eq!(&path, &reference_path(index as usize, &entries));
        prop_assert_eq!(root_from_path(hash_entry(&entry(index)), index, size, &path), Some(root));
    }

    #[test]
    fn a_proof_that_is_changed_in_any_way_does_not_hold(
        size in 2_u64..200, index in 0_u64..200, at in 0_usize..20, kind in 0_u8..4,
    ) {
        let index = index % size;
        let tree = tree_of(size);
        let root = tree.root_at(size).unwrap();
        let change = |mut path: Vec<Digest>| {
            let at = at % (path.len() + 1);
            match kind {
                0 => path.insert(at, Digest::of(b"more")),
                1 if at < path.len() => drop(path.remove(at)),
                2 if at < path.len() => path[at] = Digest::of(b"other"),
                3 if at + 1 < path.len() => path.swap(at, at + 1),
                _ => path.push(Digest::of(b"more")),
            }
            path
        };
        let leaf = hash_entry(&entry(index));
        prop_assert_ne!(root_from_path(leaf, index, size, &change(tree.prove_inclusion(index, size).unwrap())), Some(root));
        prop_assert_ne!(root_from_path(hash_entry(b"other"), index, size, &tree.prove_inclusion(index, size).unwrap()), Some(root));
    }

    #[test]
    fn a_tree_with_one_other_entry_has_another_root(size in 2_u64..120, old in 1_u64..120, changed in 0_u64..120) {
        let old = 1 + old % size;
        let changed = changed % old;
        let tree = tree_of(size);
        let entries = (0..size).map(|number| if number == changed { hash_entry(b"rewritten") } else { hash_entry(&entry(number)) });
        let rewritten = MerkleTree::from_hashes(entries);
        prop_assert_ne!(rewritten.root_at(old), tree.root_at(old));
    }
}

//! Inputs that a fuzzer found (`native/fuzz`): each is refused, where it once ended in a panic.

use kokoro_runtime::voices::parse_npy;

/// A .npy file of version 2 with this header and no values.
fn npy(header: &str) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

#[test]
fn a_npy_header_of_any_text_is_refused() {
    let found = [
        // The first character of the dtype has two bytes.
        ("{'descr': '\u{319}8', 'fortran_order': True, 'shape': (510, 256), }", "float32"),
        ("{'descr': '', 'fortran_order': True, 'shape': (510, 256), }", "float32"),
        ("{'descr': '>', 'fortran_order': True, 'shape': (510, 256), }", "float32"),
    ];
    for (header, said) in found {
        let error = parse_npy(&npy(header), "voice.npy").expect_err(header).to_string();
        assert!(error.contains(said), "{header}: {error}");
    }
}

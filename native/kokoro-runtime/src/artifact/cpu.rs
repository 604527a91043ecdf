//! Compare the vector instructions of this CPU with those that a library was compiled for.
//!
//! Features have LLVM's names; the tables map them to the names of Linux and macOS, as
//! `kokoro_pipeline/artifact/cpu.py` does.

use std::collections::BTreeSet;

use super::amx;
use super::manifest::TargetInfo;
use crate::errors::{reason, Error, Result};

/// A feature by LLVM's name, and what the system must report for it.
type Feature = (&'static str, &'static [&'static str]);

const X86_FLAGS: &[Feature] = &[
    ("sse3", &["pni"]),
    ("ssse3", &["ssse3"]),
    ("sse4.1", &["sse4_1"]),
    ("sse4.2", &["sse4_2"]),
    ("sse4a", &["sse4a"]),
    ("avx", &["avx"]),
    ("avx2", &["avx2"]),
    ("fma", &["fma"]),
    ("fma4", &["fma4"]),
    ("xop", &["xop"]),
    ("f16c", &["f16c"]),
    ("gfni", &["gfni"]),
    ("avx512f", &["avx512f"]),
    ("avx512cd", &["avx512cd"]),
    ("avx512bw", &["avx512bw"]),
    ("avx512dq", &["avx512dq"]),
    ("avx512vl", &["avx512vl"]),
    ("avx512ifma", &["avx512ifma"]),
    ("avx512vbmi", &["avx512vbmi"]),
    ("avx512vbmi2", &["avx512_vbmi2"]),
    ("avx512vnni", &["avx512_vnni"]),
    ("avx512bitalg", &["avx512_bitalg"]),
    ("avx512vpopcntdq", &["avx512_vpopcntdq"]),
    ("avx512bf16", &["avx512_bf16"]),
    ("avx512fp16", &["avx512_fp16"]),
    ("avxvnni", &["avx_vnni"]),
    ("amx-tile", &["amx_tile"]),
    ("amx-bf16", &["amx_bf16"]),
    ("popcnt", &["popcnt"]),
    ("lzcnt", &["abm"]),
    ("bmi", &["bmi1"]),
    ("bmi2", &["bmi2"]),
    ("movbe", &["movbe"]),
];

const ARM_FLAGS: &[Feature] = &[
    ("fp-armv8", &["fp"]),
    ("neon", &["asimd"]),
    ("fullfp16", &["fphp", "asimdhp"]),
    ("fp16fml", &["asimdfhm"]),
    ("rdm", &["asimdrdm"]),
    ("complxnum", &["fcma"]),
    ("dotprod", &["asimddp"]),
    ("bf16", &["bf16"]),
    ("i8mm", &["i8mm"]),
    ("sve", &["sve"]),
    ("sve2", &["sve2"]),
];

/// Linux's names with their word (AT_HWCAP, AT_HWCAP2) and bit.
const ARM_CAPABILITIES: &[(&str, usize, u32)] = &[
    ("fp", 0, 0),
    ("asimd", 0, 1),
    ("fphp", 0, 9),
    ("asimdhp", 0, 10),
    ("asimdrdm", 0, 12),
    ("fcma", 0, 14),
    ("asimddp", 0, 20),
    ("sve", 0, 22),
    ("asimdfhm", 0, 23),
    ("sve2", 1, 1),
    ("i8mm", 1, 13),
    ("bf16", 1, 14),
];

const APPLE_FLAGS: &[Feature] = &[
    ("fp-armv8", &["floatingpoint"]),
    ("neon", &["neon"]),
    ("fullfp16", &["arm.FEAT_FP16"]),
    ("fp16fml", &["arm.FEAT_FHM"]),
    ("rdm", &["arm.FEAT_RDM"]),
    ("complxnum", &["arm.FEAT_FCMA"]),
    ("dotprod", &["arm.FEAT_DotProd"]),
    ("bf16", &["arm.FEAT_BF16"]),
    ("i8mm", &["arm.FEAT_I8MM"]),
];

const X86_LEVELS: &[(&str, &[&str])] = &[
    ("x86-64-v2", &["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"]),
    ("x86-64-v3", &["avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"]),
    ("x86-64-v4", &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
];

/// Check that this CPU has all vector features that a library needs; the evidence as text.
///
/// For a library that uses AMX this requests the permission for tiles, before any thread that runs
/// the library starts.
pub fn check_target(target: &TargetInfo, artifact: &str) -> Result<String> {
    if target.features.is_empty() {
        return Ok(format!("compiled for {}, needs no vector feature", target.mcpu));
    }
    let here = host_features()?;
    let missing: Vec<&str> =
        target.features.iter().map(String::as_str).filter(|name| !here.contains(name)).collect();
    if !missing.is_empty() {
        return Err(Error::artifact(format!(
            "{artifact} was compiled for {}; this CPU lacks {}. Build it on this machine, or with: \
             kokoro-pipeline build --mcpu {} -o DIR",
            target.mcpu,
            missing.join(", "),
            portable_mcpu(&here)
        )));
    }
    let mut evidence =
        format!("compiled for {}, this CPU has {}", target.mcpu, target.features.join(", "));
    if target.features.iter().any(|name| amx::FEATURES.contains(&name.as_str())) {
        evidence += &format!(", and {}", amx::permit_tiles(artifact)?);
    }
    Ok(evidence)
}

/// The vector features (LLVM's names) of the CPU that this process runs on.
fn host_features() -> Result<BTreeSet<&'static str>> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let text = read("/proc/cpuinfo")?;
        let flags = parse_cpuinfo(&String::from_utf8_lossy(&text));
        if flags.is_empty() {
            return Err(Error::environment(
                "cannot tell the CPU's features: /proc/cpuinfo lists no flags",
            ));
        }
        return Ok(translate(X86_FLAGS, &flags));
    }
    if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
        // The auxiliary vector is right for an emulated CPU too, unlike /proc/cpuinfo.
        let names = parse_capabilities(&parse_auxiliary_vector(&read("/proc/self/auxv")?));
        return Ok(translate(ARM_FLAGS, &names));
    }
    if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        let said = std::process::Command::new("/usr/sbin/sysctl").arg("hw.optional").output();
        let said = said.map_err(|error| {
            let why = reason(&error);
            Error::environment(format!("cannot tell the CPU's features: sysctl: {why}"))
        })?;
        return Ok(translate(APPLE_FLAGS, &parse_sysctl(&String::from_utf8_lossy(&said.stdout))));
    }
    Err(Error::environment(format!(
        "cannot tell the CPU's features on {}/{}: artifacts run on Linux (x86-64, aarch64) and on \
         macOS (arm64)",
        std::env::consts::OS,
        std::env::consts::ARCH
    )))
}

fn read(file: &str) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| {
        Error::environment(format!(
            "cannot tell the CPU's features: {file}: {}; mount /proc in this container",
            reason(&error)
        ))
    })
}

fn translate(table: &'static [Feature], flags: &BTreeSet<String>) -> BTreeSet<&'static str> {
    table
        .iter()
        .filter(|(_, needed)| needed.iter().all(|flag| flags.contains(*flag)))
        .map(|(name, _)| *name)
        .collect()
}

/// The flags that all CPUs in the /proc/cpuinfo of an x86 machine have in common.
fn parse_cpuinfo(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() == "flags")
        .map(|(_, flags)| flags.split_whitespace().map(str::to_string).collect())
        .reduce(|all: BTreeSet<String>, one| all.intersection(&one).cloned().collect())
        .unwrap_or_default()
}

/// AT_HWCAP and AT_HWCAP2 of an auxiliary vector of 64-bit words.
fn parse_auxiliary_vector(bytes: &[u8]) -> [u64; 2] {
    let mut found = [0; 2];
    for pair in bytes.chunks_exact(16) {
        let word = |at: usize| u64::from_ne_bytes(pair[at..at + 8].try_into().expect("8 bytes"));
        match word(0) {
            16 => found[0] = word(8),
            26 => found[1] = word(8),
            _ => {}
        }
    }
    found
}

fn parse_capabilities(words: &[u64; 2]) -> BTreeSet<String> {
    ARM_CAPABILITIES
        .iter()
        .filter(|(_, word, bit)| words[*word] >> bit & 1 == 1)
        .map(|(name, _, _)| (*name).to_string())
        .collect()
}

/// The names under `hw.optional` that are 1.
fn parse_sysctl(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("hw.optional.")?.strip_suffix(": 1"))
        .map(str::to_string)
        .collect()
}

/// The highest of LLVM's generic CPU names that a CPU with these features supports.
fn portable_mcpu(features: &BTreeSet<&'static str>) -> &'static str {
    if ARM_FLAGS.iter().any(|(name, _)| features.contains(name)) {
        return "generic";
    }
    X86_LEVELS
        .iter()
        .take_while(|(_, needed)| needed.iter().all(|name| features.contains(name)))
        .last()
        .map_or("x86-64", |(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_all_cpus_count() {
        let text = "processor\t: 0\nflags\t\t: fpu pni avx abm\n\nflags : pni avx\n";
        let flags = parse_cpuinfo(text);
        assert_eq!(translate(X86_FLAGS, &flags), BTreeSet::from(["avx", "sse3"]));
        assert!(parse_cpuinfo("model name : x\n").is_empty());
    }

    #[test]
    fn capabilities_are_bits() {
        let mut bytes = Vec::new();
        for word in [16u64, 0b11 | 1 << 9, 26, 1 << 14, 0, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        let names = parse_capabilities(&parse_auxiliary_vector(&bytes));
        // Half precision needs both the scalar and the vector capability.
        assert_eq!(translate(ARM_FLAGS, &names), BTreeSet::from(["bf16", "fp-armv8", "neon"]));
    }

    #[test]
    fn sysctl_lists_what_is_one() {
        let names = parse_sysctl("hw.optional.neon: 1\nhw.optional.arm.FEAT_BF16: 0\n");
        assert_eq!(translate(APPLE_FLAGS, &names), BTreeSet::from(["neon"]));
    }

    #[test]
    fn levels_of_x86_are_cumulative() {
        let mut features: BTreeSet<&str> = BTreeSet::new();
        assert_eq!(portable_mcpu(&features), "x86-64");
        features.extend(X86_LEVELS[0].1);
        features.extend(X86_LEVELS[2].1);
        assert_eq!(portable_mcpu(&features), "x86-64-v2");
        features.extend(X86_LEVELS[1].1);
        assert_eq!(portable_mcpu(&features), "x86-64-v4");
    }

    #[test]
    fn missing_features_are_named() {
        let error = check_target(&target(&["avx1024"]), "kokoro").unwrap_err().to_string();
        assert!(error.contains("this CPU lacks avx1024"), "{error}");
        assert!(error.contains("--mcpu"), "{error}");
    }

    #[test]
    fn amx_runs_where_it_is_and_is_refused_by_name_elsewhere() {
        let here = host_features().unwrap();
        match check_target(&target(&amx::FEATURES), "kokoro") {
            Ok(evidence) => assert!(evidence.contains("permits AMX tiles"), "{evidence}"),
            Err(error) if amx::FEATURES.iter().all(|name| here.contains(name)) => {
                assert!(error.to_string().contains("does not permit"), "{error}");
            }
            Err(error) => {
                assert!(error.to_string().contains("this CPU lacks amx-bf16"), "{error}");
            }
        }
    }

    fn target(features: &[&str]) -> TargetInfo {
        TargetInfo {
            kind: "llvm".into(),
            mcpu: "future".into(),
            features: features.iter().map(|name| (*name).to_string()).collect(),
            host: String::new(),
            archs: Vec::new(),
            precision: "float32".into(),
        }
    }
}

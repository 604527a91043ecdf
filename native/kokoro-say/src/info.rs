//! The summary of a manifest, with the rows of `kokoro-pipeline info`.

use std::collections::BTreeMap;

use kokoro_runtime::artifact::manifest::{Choices, Manifest, TargetInfo, TensorSpec};
use serde_json::Value;

/// A summary of a manifest.
pub fn describe(manifest: &Manifest) -> String {
    let weights = &manifest.weights;
    let mut origin = weights.source.clone();
    if let Some(revision) = &weights.revision {
        origin = format!("{origin} at {revision}");
    }
    if weights.synthetic {
        let seed = weights.seed.as_deref().unwrap_or("None");
        origin = format!("synthetic, seed {seed} (random numbers: its output is not speech)");
    }
    let states = counts(manifest.fixes.values());
    let bytes: u64 = manifest.files.values().map(|entry| entry.size).sum();
    let schema = &manifest.json["schema_version"];
    let or = |text: String, otherwise: &str| if text.is_empty() { otherwise.into() } else { text };
    let rows = [
        ["package", &format!("tvm-kokoro {}, schema {schema}", manifest.package_version)],
        ["weights", &origin],
        ["", &format!("sha256 {}", weights.sha256)],
        ["target", &format!("{}, opt level {}", target(&manifest.target), manifest.opt_level)],
        ["features", &or(manifest.target.features.join(" "), "none beyond the architecture's own")],
        ["versions", &list(manifest.versions.iter().map(|(name, v)| format!("{name} {v}")))],
        ["fixes", &or(states, "none")],
        ["voices", &or(manifest.voices().join(" "), "none")],
        ["files", &format!("{}, {}", manifest.files.len(), size(bytes))],
        ["validation", &validation(&manifest.json["validation"])],
        ["convolutions", &choices(&manifest.choices)],
        ["manifest", &format!("sha256 {}", manifest.sha256)],
    ];
    let functions: Vec<[String; 3]> = manifest
        .functions
        .iter()
        .map(|(name, spec)| {
            [
                name.clone(),
                format!("{} -> {}", tensors(&spec.inputs), tensors(&spec.outputs)),
                format!("{} parameters", spec.parameters.len()),
            ]
        })
        .collect();
    format!("{}\n{}", table(&rows), table(&functions))
}

/// Rows as columns that are as wide as their widest cell, without trailing blanks.
pub fn table<const N: usize, S: AsRef<str>>(rows: &[[S; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.as_ref().chars().count());
        }
    }
    let line = |row: &[S; N]| {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{:width$}", cell.as_ref()))
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<String>>().join(", ")
}

fn target(target: &TargetInfo) -> String {
    let archs = match target.archs.as_slice() {
        [] => String::new(),
        archs => format!(" ({})", archs.join(" ")),
    };
    let reduced = match target.precision.as_str() {
        "float32" => String::new(),
        precision => format!(" in {precision}"),
    };
    let host = match target.host.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    format!("{}{archs}{reduced}, {}{host}", target.kind, target.mcpu)
}

fn validation(value: &Value) -> String {
    if let Some(why) = value.get("not_validated") {
        return format!("none was run: {}", why.as_str().map_or(why.to_string(), String::from));
    }
    match (value.as_object().map_or(true, serde_json::Map::is_empty), value.get("passed")) {
        (true, _) => "none was run (see `kokoro-pipeline validate`)".into(),
        (_, Some(Value::Bool(true))) => "passed when built".into(),
        (_, Some(Value::Bool(false))) => "FAILED when built".into(),
        _ => "stored (see --json)".into(),
    }
}

fn choices(choices: &Choices) -> String {
    let how = match choices.measured_on.as_str() {
        _ if choices.algorithms.is_empty() => return "one way each".into(),
        "" => "chosen by the model".into(),
        cpu => format!("measured on {cpu}"),
    };
    format!("{} ({how})", counts(choices.algorithms.values()))
}

/// How often each name occurs: `2 fft, 3 winograd`.
fn counts<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    list(counts.iter().map(|(name, n)| format!("{n} {name}")))
}

fn tensors(tensors: &[TensorSpec]) -> String {
    list(tensors.iter().map(|tensor| {
        let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let dtype = match tensor.dtype.as_str() {
            "float32" => String::new(),
            dtype => format!(" {dtype}"),
        };
        format!("{}[{}]{dtype}", tensor.name, sizes.join(","))
    }))
}

/// A number of bytes in binary units.
fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if amount < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{amount:.1} {unit}") };
        }
        amount /= 1024.0;
    }
    format!("{amount:.1} GiB")
}

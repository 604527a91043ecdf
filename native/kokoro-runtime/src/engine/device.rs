//! The device that the functions of an artifact run on.

use crate::artifact::manifest::TargetInfo;
use crate::errors::{Error, Result};

const KNOWN: &str = "auto, cpu, cuda, cuda:N (N is the GPU's number, from 0), metal";

/// The device that is asked for. Nothing runs elsewhere than asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// What the artifact was compiled for.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The NVIDIA GPU of this number.
    Cuda(u32),
    /// Apple's GPU.
    Metal,
}

impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Device> {
        let index = |digits: &str| -> Option<u32> {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok())?
        };
        match (text, text.strip_prefix("cuda:").and_then(index)) {
            ("auto", _) => Ok(Device::Auto),
            ("cpu", _) => Ok(Device::Cpu),
            ("metal", _) => Ok(Device::Metal),
            ("cuda", _) => Ok(Device::Cuda(0)),
            (_, Some(index)) => Ok(Device::Cuda(index)),
            _ => Err(Error::input(format!("unknown device {text:?}: the known are {KNOWN}"))),
        }
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => out.write_str("auto"),
            Device::Cpu => out.write_str("cpu"),
            Device::Cuda(index) => write!(out, "cuda:{index}"),
            Device::Metal => out.write_str("metal"),
        }
    }
}

/// Check that an artifact for `target` runs on `wanted` by this program.
pub fn check_device(wanted: &Device, target: &TargetInfo, artifact: &str) -> Result<()> {
    let kind = match wanted {
        Device::Auto => target.device(),
        Device::Cpu => "cpu",
        Device::Cuda(_) => "cuda",
        Device::Metal => "metal",
    };
    let built = if target.archs.is_empty() {
        target.device().to_string()
    } else {
        format!("{} ({})", target.device(), target.archs.join(" "))
    };
    if kind != target.device() {
        let flag = if kind == "cpu" { "llvm" } else { kind };
        return Err(Error::artifact(format!(
            "{artifact} was compiled for {built}, and --device {wanted} was asked for: leave out \
             --device, or build another with: kokoro-pipeline build --target {flag} -o DIR"
        )));
    }
    if kind != "cpu" {
        return Err(Error::artifact(format!(
            "{artifact} was compiled for {built}, which the native runtime does not run: speak \
             with kokoro-pipeline say, or build one for the CPU with: kokoro-pipeline build \
             --target llvm -o DIR"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_parsed_and_refused() {
        let known = [
            ("auto", Device::Auto),
            ("cpu", Device::Cpu),
            ("cuda", Device::Cuda(0)),
            ("cuda:3", Device::Cuda(3)),
            ("metal", Device::Metal),
        ];
        for (text, device) in known {
            assert_eq!(text.parse::<Device>().unwrap(), device);
        }
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cpu:0", "metal:0", "cuda:x", "CPU"]
        {
            let error = text.parse::<Device>().unwrap_err().to_string();
            assert!(error.starts_with("unknown device"), "{text}");
        }
    }
}

//! The artifact: a folder, its manifest, and what is checked before anything of it is loaded.

mod amx;
pub mod binary;
pub mod config;
pub mod cpu;
pub mod manifest;
pub mod reader;

pub use manifest::Manifest;
pub use reader::{open, read, verify, Artifact, CheckResult};

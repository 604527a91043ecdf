//! An artifact's compiled functions on tensors: device, threads, one dispatcher.

pub mod device;
pub mod dispatcher;
pub mod executable;
pub mod functions;
pub mod threads;

//! The compiled functions of an artifact, with their parameters.

use std::collections::HashMap;
use std::sync::Arc;

use super::functions::Symbols;
use crate::artifact::Artifact;
use crate::errors::{Error, Kind, Result};
use crate::tvm::{self, Argument, Function, Mapping, Module, Tensor};

/// Calls the compiled functions. It is made, used and dropped on one thread only.
pub struct Executable {
    functions: HashMap<String, (Function, Vec<Tensor>)>,
    last_symbols: HashMap<String, Symbols>,
    _machine: Module,
    _library: Module,
}

impl Executable {
    /// Start the VM of an artifact with `threads` threads, and map its parameters.
    pub fn start(artifact: &Artifact, threads: usize) -> Result<Executable> {
        tvm::configure_pool(threads)?;
        let library = artifact.library();
        let damaged = |error: Error| match error.kind() {
            Kind::Input | Kind::Environment => error, // with a remedy of its own
            Kind::Artifact | Kind::Internal => Error::artifact(format!(
                "{} cannot be loaded as a compiled model: {error}; build the artifact anew",
                library.display()
            )),
        };
        let module = Module::load(&library).map_err(damaged)?;
        let machine = module.virtual_machine().map_err(damaged)?;
        let mapping = Arc::new(Mapping::open(&artifact.parameters())?);
        let mut functions = HashMap::new();
        for (name, spec) in &artifact.manifest.functions {
            let function = machine.function(name).map_err(|_| {
                Error::artifact(format!(
                    "{} has no function {name}, which its manifest lists; build the artifact anew",
                    library.display()
                ))
            })?;
            let parameters = spec.parameters.iter().map(|parameter| {
                let shape: Vec<i64> = parameter.shape.iter().map(|&size| size as i64).collect();
                let offset = if shape.contains(&0) { 0 } else { parameter.offset as usize };
                Tensor::mapped(&mapping, offset, &parameter.dtype, &shape).map_err(|error| {
                    Error::artifact(format!(
                        "{}: {}: {error}",
                        artifact.parameters().display(),
                        parameter.name
                    ))
                })
            });
            functions.insert(name.clone(), (function, parameters.collect::<Result<_>>()?));
        }
        Ok(Executable {
            functions,
            last_symbols: HashMap::new(),
            _machine: machine,
            _library: module,
        })
    }

    /// Call function `name`; `symbols` are the values of the symbolic sizes of the inputs.
    pub fn call(&mut self, name: &str, symbols: Symbols, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        // The pooled allocator keeps buffers by exact size forever: drop those of another length.
        if self.last_symbols.get(name).is_some_and(|last| *last != symbols) {
            tvm::release_pool()?;
        }
        self.last_symbols.insert(name.to_string(), symbols);
        let (function, parameters) = self
            .functions
            .get(name)
            .ok_or_else(|| Error::artifact(format!("the artifact has no {name}")))?;
        let arguments: Vec<Argument> =
            inputs.iter().chain(parameters).map(Argument::Tensor).collect();
        function.call(&arguments)?.tensors()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.functions.clear();
        // What cannot be released now is released when the process ends.
        let _ = tvm::release_pool();
    }
}

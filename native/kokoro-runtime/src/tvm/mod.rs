//! A safe face of TVM's C ABI: functions, modules, tensors and errors.
//!
//! All unsafe code of this crate is in this module, but for the system call of `artifact::amx`; the
//! invariant of each block is beside it.
#![allow(unsafe_code)]

mod abi;
mod memory;

use std::collections::HashMap;
use std::ffi::{c_void, CString, OsStr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use self::abi::{Any, Api, ByteArray, DataType, Handle, ManagedTensor, Value};
use crate::errors::{Error, Result};

use self::memory::Buffer;
pub use self::memory::Mapping;

/// The alignment in bytes that kernels assume of every tensor, without checking it.
pub const ALIGNMENT: usize = 64;

static API: OnceLock<Api> = OnceLock::new();

/// Load libtvm_ffi and libtvm_runtime into this process; later calls have no effect.
///
/// Both stay loaded: their registries and thread-locals hold addresses of their code.
pub fn start(ffi: &Path, runtime: &Path) -> Result<()> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if API.get().is_some() {
        return Ok(());
    }
    let failed = |library: &Path, error: libloading::Error| {
        Error::environment(format!(
            "{} fails to load: {error}; TVM's two libraries must come from one installation: set \
             KOKORO_TVM_LIBS to their folders",
            library.display()
        ))
    };
    // Global, since an artifact's library finds its symbols there when a kernel raises an error.
    let mode = RTLD_NOW | RTLD_GLOBAL;
    // SAFETY: these are TVM's libraries, whose initializers only fill their own registries. They
    // are never closed, so that addresses of their functions stay valid.
    let ffi_library = unsafe { Library::open(Some(ffi), mode) }.map_err(|e| failed(ffi, e))?;
    // The runtime needs libtvm_ffi, which the loader finds by its name because it is loaded.
    // SAFETY: as above.
    let runtime_library =
        unsafe { Library::open(Some(runtime), mode) }.map_err(|e| failed(runtime, e))?;
    std::mem::forget(runtime_library);
    let missing = |error| failed(ffi, error);
    // SAFETY: the types are those that tvm/ffi/c_api.h declares for these names.
    let api = unsafe {
        Api {
            get_version: *ffi_library.get(b"TVMFFIGetVersion\0").map_err(missing)?,
            inc_ref: *ffi_library.get(b"TVMFFIObjectIncRef\0").map_err(missing)?,
            dec_ref: *ffi_library.get(b"TVMFFIObjectDecRef\0").map_err(missing)?,
            get_global: *ffi_library.get(b"TVMFFIFunctionGetGlobal\0").map_err(missing)?,
            call: *ffi_library.get(b"TVMFFIFunctionCall\0").map_err(missing)?,
            move_error: *ffi_library.get(b"TVMFFIErrorMoveFromRaised\0").map_err(missing)?,
            tensor_from_dlpack: *ffi_library
                .get(b"TVMFFITensorFromDLPackVersioned\0")
                .map_err(missing)?,
        }
    };
    std::mem::forget(ffi_library);
    let mut version = abi::Version { major: 0, minor: 0, patch: 0 };
    // SAFETY: the function fills the struct that it is given.
    unsafe { (api.get_version)(&mut version) };
    if (version.major, version.minor) != (0, 1) {
        return Err(Error::environment(format!(
            "{} has version {}.{}.{} of the C ABI, this program speaks 0.1: install \
             apache-tvm-ffi 0.1.15",
            ffi.display(),
            version.major,
            version.minor,
            version.patch
        )));
    }
    let _ = API.set(api);
    Ok(())
}

/// The path of the program or shared library that contains this code, if the system knows it.
pub fn own_file() -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid, and the address lies in this library's code.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own_file as fn() -> Option<PathBuf> as *const c_void, &mut info) == 0
            || info.dli_fname.is_null()
        {
            return None;
        }
        // SAFETY: the loader's names end in NUL and live as long as the library is loaded.
        std::ffi::CStr::from_ptr(info.dli_fname).to_bytes().to_vec()
    };
    let path = PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&name));
    path.is_absolute().then_some(path)
}

fn api() -> &'static Api {
    API.get().expect("tvm::start comes first")
}

/// An owned reference to an object of TVM.
struct Object(Handle);

// SAFETY: reference counts are atomic, and the objects made here (functions, modules, tensors) are
// not bound to a thread. Which thread may call a function is a matter of `engine::dispatcher`.
unsafe impl Send for Object {}
// SAFETY: as above; a shared reference only reads the header and the content.
unsafe impl Sync for Object {}

impl Clone for Object {
    fn clone(&self) -> Object {
        // SAFETY: the handle is valid as long as this reference lives.
        unsafe { (api().inc_ref)(self.0) };
        Object(self.0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this reference is owned and given back once.
        unsafe { (api().dec_ref)(self.0) };
    }
}

impl Object {
    fn type_index(&self) -> i32 {
        // SAFETY: every object begins with the header.
        unsafe { (*self.0).type_index }
    }

    /// The content after the header, which must be of the type that the object's index says.
    fn content<T>(&self) -> *const T {
        // SAFETY: one header past the start of the object is within its allocation.
        unsafe { self.0.add(1).cast() }
    }

    fn of_type(self, type_index: i32, what: &str) -> Result<Object> {
        if self.type_index() == type_index {
            return Ok(self);
        }
        Err(Error::internal(format!("TVM returned type {}, not {what}", self.type_index())))
    }
}

/// An argument, borrowed for the time of a call.
pub enum Argument<'a> {
    Int(i64),
    Bool(bool),
    Text(&'a str),
    Tensor(&'a Tensor),
    #[doc(hidden)]
    Any(&'a Reference),
}

/// A reference to an object of any type.
pub struct Reference(Object);

/// What a function returned.
pub enum Returned {
    Nothing,
    Int(i64),
    Object(Reference),
}

impl Returned {
    fn object(self, type_index: i32, what: &str) -> Result<Object> {
        match self {
            Returned::Object(Reference(object)) => object.of_type(type_index, what),
            Returned::Int(value) => {
                Err(Error::internal(format!("TVM returned {value}, not {what}")))
            }
            Returned::Nothing => Err(Error::internal(format!("TVM returned nothing, not {what}"))),
        }
    }

    fn int(self) -> Result<i64> {
        match self {
            Returned::Int(value) => Ok(value),
            _ => Err(Error::internal("TVM returned no integer")),
        }
    }

    /// The tensors that a compiled function returned: one, or an array of them.
    pub fn tensors(self) -> Result<Vec<Tensor>> {
        let Returned::Object(reference) = self else {
            return Err(Error::internal("a compiled function returned no tensor"));
        };
        if reference.0.type_index() == abi::TENSOR {
            return Ok(vec![Tensor(reference.0)]);
        }
        let list = Reference(reference.0.of_type(abi::ARRAY, "a tensor or an array of tensors")?);
        let count = Function::global("ffi.ArraySize")?.call(&[Argument::Any(&list)])?.int()?;
        let item = Function::global("ffi.ArrayGetItem")?;
        (0..count)
            .map(|index| {
                let element = item.call(&[Argument::Any(&list), Argument::Int(index)])?;
                Ok(Tensor(element.object(abi::TENSOR, "a tensor")?))
            })
            .collect()
    }
}

/// The error that TVM has just raised on this thread, with its kind.
fn raised() -> Error {
    let mut handle: Handle = std::ptr::null_mut();
    // SAFETY: the function writes a handle, whose ownership passes to us, or null.
    unsafe { (api().move_error)(&mut handle) };
    if handle.is_null() {
        return Error::internal("TVM failed and left no error");
    }
    let error = Object(handle);
    // SAFETY: the content of an error begins with an ErrorCell, whose texts live as long as it.
    let (kind, message) = unsafe {
        let cell = &*error.content::<abi::ErrorCell>();
        (text_of(&cell.kind), text_of(&cell.message))
    };
    let last = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    Error::internal(format!("{kind}: {last}"))
}

/// # Safety
/// The bytes must be readable.
unsafe fn text_of(bytes: &ByteArray) -> String {
    if bytes.data.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    let slice = unsafe { std::slice::from_raw_parts(bytes.data, bytes.size) };
    String::from_utf8_lossy(slice).into_owned()
}

/// A function of TVM, or of a compiled library.
#[derive(Clone)]
pub struct Function(Object);

impl Function {
    /// The function that TVM has registered under this name, if any.
    pub fn find(name: &str) -> Result<Option<Function>> {
        let bytes = ByteArray { data: name.as_ptr(), size: name.len() };
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: `bytes` lives through the call, which writes an owned handle or null.
        if unsafe { (api().get_global)(&bytes, &mut handle) } != 0 {
            return Err(raised());
        }
        if handle.is_null() {
            return Ok(None);
        }
        Ok(Some(Function(Object(handle).of_type(abi::FUNCTION, "a function")?)))
    }

    /// The function that TVM has registered under this name.
    pub fn global(name: &str) -> Result<Function> {
        Function::find(name)?.ok_or_else(|| {
            Error::environment(format!(
                "libtvm_runtime has no {name}: this build of TVM cannot run artifacts; install \
                 apache-tvm 0.27 from PyPI"
            ))
        })
    }

    /// Call the function. An error that TVM raises is of kind Internal: the caller knows the cause.
    pub fn call(&self, arguments: &[Argument]) -> Result<Returned> {
        let texts: Vec<Option<CString>> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Text(text) => CString::new(*text)
                    .map(Some)
                    .map_err(|_| Error::input(format!("{text:?} contains a NUL"))),
                _ => Ok(None),
            })
            .collect::<Result<_>>()?;
        let mut raw: Vec<Any> = arguments
            .iter()
            .zip(&texts)
            .map(|(argument, text)| {
                let (type_index, value) = match argument {
                    Argument::Int(value) => (abi::INT, Value { int: *value }),
                    Argument::Bool(value) => (abi::BOOL, Value { int: i64::from(*value) }),
                    Argument::Text(_) => {
                        let text = text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
                        (abi::RAW_STR, Value { str: text })
                    }
                    Argument::Tensor(tensor) => (abi::TENSOR, Value { object: tensor.0 .0 }),
                    Argument::Any(any) => (any.0.type_index(), Value { object: any.0 .0 }),
                };
                Any { type_index, padding: 0, value }
            })
            .collect();
        let mut result = Any { type_index: abi::NONE, padding: 0, value: Value { int: 0 } };
        // SAFETY: arguments are borrowed for the call, `texts` outlives it, and the result is
        // initialized as the header demands.
        let code =
            unsafe { (api().call)(self.0 .0, raw.as_mut_ptr(), raw.len() as i32, &mut result) };
        if code != 0 {
            return Err(raised());
        }
        // SAFETY: the index says which member of the union is set; an object is owned by us.
        Ok(unsafe {
            match result.type_index {
                index if index >= abi::STATIC_OBJECT_BEGIN => {
                    Returned::Object(Reference(Object(result.value.object)))
                }
                abi::INT | abi::BOOL => Returned::Int(result.value.int),
                _ => Returned::Nothing,
            }
        })
    }
}

/// A loaded library, or the VM of one.
pub struct Module(Reference);

impl Module {
    /// Load a compiled library. Its initializers run, so it must be one to trust.
    pub fn load(path: &Path) -> Result<Module> {
        let name = path.to_str().ok_or_else(|| {
            Error::input(format!(
                "{} is not valid UTF-8, which TVM needs of a path: rename the folder, or name the \
                 artifact by a path that is relative to it",
                path.display()
            ))
        })?;
        let load = Function::global("ffi.ModuleLoadFromFile")?;
        let module = load.call(&[Argument::Text(name)])?.object(abi::MODULE, "a module")?;
        Ok(Module(Reference(module)))
    }

    /// A function of the module by name; an error of kind Artifact if there is none.
    pub fn function(&self, name: &str) -> Result<Function> {
        let get = Function::global("ffi.ModuleGetFunction")?;
        let found =
            get.call(&[Argument::Any(&self.0), Argument::Text(name), Argument::Bool(true)])?;
        match found {
            Returned::Object(reference) => {
                Ok(Function(reference.0.of_type(abi::FUNCTION, "a function")?))
            }
            _ => Err(Error::artifact(format!("it has no function {name}"))),
        }
    }

    /// Start the VM of a compiled library on the CPU, with the pooled allocator.
    pub fn virtual_machine(&self) -> Result<Module> {
        const POOLED_ALLOCATOR: i64 = 2;
        let made = self.function("vm_load_executable")?.call(&[])?;
        let machine = Module(Reference(made.object(abi::MODULE, "a virtual machine")?));
        machine.function("vm_initialization")?.call(&[
            Argument::Int(i64::from(abi::CPU)),
            Argument::Int(0),
            Argument::Int(POOLED_ALLOCATOR),
        ])?;
        Ok(machine)
    }
}

/// Give the pool of the calling thread exactly `count` threads, the caller among them.
pub fn configure_pool(count: usize) -> Result<()> {
    const FAST_CORES: i64 = 1;
    // The length of the list, not its content, sets the limit of the pool.
    let names: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    let names: Vec<Argument> = names.iter().map(|name| Argument::Text(name)).collect();
    let list = Function::global("ffi.Array")?.call(&names)?.object(abi::ARRAY, "an array")?;
    let list = Reference(list);
    Function::global("runtime.config_threadpool")?.call(&[
        Argument::Int(FAST_CORES),
        Argument::Int(count as i64),
        Argument::Any(&list),
    ])?;
    let got = Function::global("runtime.NumThreads")?.call(&[])?.int()?;
    if got != count as i64 {
        return Err(Error::environment(format!(
            "TVM's thread pool has {got} threads where {count} were asked for; ask for {got} or \
             set TVM_NUM_THREADS={got}"
        )));
    }
    Ok(())
}

/// Release the unused memory that TVM's allocator keeps for reuse.
pub fn release_pool() -> Result<()> {
    Function::global("vm.builtin.memory_manager.clear")?.call(&[])?;
    Ok(())
}

mod sealed {
    /// Types without padding and for which all bit patterns are valid.
    pub trait Plain: Copy {
        const DTYPE: super::DataType;
    }
    impl Plain for f32 {
        const DTYPE: super::DataType = super::DataType { code: 2, bits: 32, lanes: 1 };
    }
    impl Plain for i64 {
        const DTYPE: super::DataType = super::DataType { code: 0, bits: 64, lanes: 1 };
    }
}

/// The element types of inputs and outputs: `f32` and `i64`.
pub trait Element: sealed::Plain {}
impl<T: sealed::Plain> Element for T {}

/// A dense tensor in the memory of the CPU, at an address that is a multiple of 64.
#[derive(Clone)]
pub struct Tensor(Object);

/// What a tensor made here keeps alive.
struct Keep {
    shape: Vec<i64>,
    _memory: Arc<dyn Send + Sync>,
}

/// Drop what a tensor kept; TVM calls it once, on any thread.
unsafe extern "C" fn delete(managed: *mut ManagedTensor) {
    // SAFETY: both boxes were leaked by `Tensor::wrap` for this tensor.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Keep>()));
    }
}

impl Tensor {
    /// A tensor of `shape` with these values.
    ///
    /// Fails unless there are as many values as the shape says.
    pub fn new<T: Element>(shape: &[i64], values: &[T]) -> Result<Tensor> {
        let count = element_count(shape)?;
        if count != values.len() {
            return Err(Error::input(format!(
                "a tensor of shape {shape:?} has {count} elements, {} are given",
                values.len()
            )));
        }
        Tensor::filled(shape, |room: &mut [T]| room.copy_from_slice(values))
    }

    /// A tensor whose values `fill` writes into zeros.
    pub fn filled<T: Element>(shape: &[i64], fill: impl FnOnce(&mut [T])) -> Result<Tensor> {
        let count = element_count(shape)?;
        let mut buffer = Buffer::zeroed(count * std::mem::size_of::<T>())?;
        // SAFETY: the buffer is aligned to 64, has room for `count` elements of a plain type, and
        // is borrowed by nobody else.
        fill(unsafe { std::slice::from_raw_parts_mut(buffer.pointer().cast::<T>(), count) });
        let data = buffer.pointer();
        // SAFETY: the tensor keeps the buffer, whose address does not change when it moves.
        unsafe { Tensor::wrap(data, T::DTYPE, shape, Arc::new(buffer), false) }
    }

    /// A read-only tensor of a mapped file. `dtype` is numpy's name of an element type.
    ///
    /// Fails if it does not lie within the file, or not at a multiple of 64.
    pub fn mapped(
        mapping: &Arc<Mapping>,
        offset: usize,
        dtype: &str,
        shape: &[i64],
    ) -> Result<Tensor> {
        let dtype = data_type(dtype)?;
        let size = element_count(shape)?
            .checked_mul(usize::from(dtype.bits).div_ceil(8))
            .and_then(|size| size.checked_add(offset))
            .ok_or_else(|| Error::artifact("a parameter is larger than the address space"))?;
        if offset % ALIGNMENT != 0 {
            return Err(Error::artifact(format!("{offset} is not a multiple of {ALIGNMENT}")));
        }
        let bytes = mapping.bytes();
        if size > bytes.len() {
            return Err(Error::artifact(format!("it ends at byte {size} of {}", bytes.len())));
        }
        let data = bytes[offset.min(bytes.len())..].as_ptr().cast_mut();
        // SAFETY: the tensor keeps the mapping; it is flagged read-only, and kernels only read
        // parameters. A mapping begins at a page, so that the address is aligned.
        unsafe { Tensor::wrap(data, dtype, shape, mapping.clone(), true) }
    }

    /// # Safety
    /// `memory` must keep `data` alive, with room for the elements; nobody may write to it while
    /// the tensor lives, unless it is not `read_only` and the tensor is not shared.
    unsafe fn wrap(
        data: *mut u8,
        dtype: DataType,
        shape: &[i64],
        memory: Arc<dyn Send + Sync>,
        read_only: bool,
    ) -> Result<Tensor> {
        let mut keep = Box::new(Keep { shape: shape.to_vec(), _memory: memory });
        let tensor = abi::DlTensor {
            data: data.cast(),
            device: abi::Device { device_type: abi::CPU, device_id: 0 },
            ndim: shape.len() as i32,
            dtype,
            shape: keep.shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = Box::into_raw(Box::new(ManagedTensor {
            version_major: 1,
            version_minor: 0,
            context: Box::into_raw(keep).cast(),
            deleter: Some(delete),
            flags: if read_only { abi::READ_ONLY } else { 0 },
            tensor,
        }));
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: on success TVM owns `managed` and calls its deleter; on failure it stays ours.
        unsafe {
            if (api().tensor_from_dlpack)(managed, ALIGNMENT as i32, 1, &mut handle) != 0 {
                delete(managed);
                return Err(raised());
            }
        }
        Ok(Tensor(Object(handle)))
    }

    fn layout(&self) -> &abi::DlTensor {
        // SAFETY: the content of a tensor begins with its DLTensor, which never changes.
        unsafe { &*self.0.content::<abi::DlTensor>() }
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &[i64] {
        let layout = self.layout();
        if layout.ndim == 0 {
            return &[];
        }
        // SAFETY: `shape` points to `ndim` sizes that live as long as the tensor.
        unsafe { std::slice::from_raw_parts(layout.shape, layout.ndim as usize) }
    }

    /// numpy's name of the element type, such as "float32".
    pub fn dtype(&self) -> String {
        let DataType { code, bits, lanes } = self.layout().dtype;
        match (code, lanes) {
            (0, 1) => format!("int{bits}"),
            (1, 1) => format!("uint{bits}"),
            (2, 1) => format!("float{bits}"),
            (6, 1) => "bool".to_string(),
            _ => format!("type {code} of {bits} bits in {lanes} lanes"),
        }
    }

    /// The values in row-major order. Fails for another element type and for a strided tensor.
    pub fn values<T: Element>(&self) -> Result<&[T]> {
        let layout = self.layout();
        if layout.dtype != T::DTYPE || layout.device.device_type != abi::CPU {
            return Err(Error::internal(format!("a tensor holds {}", self.dtype())));
        }
        let mut count = 1i64;
        for (axis, &size) in self.shape().iter().enumerate().rev() {
            // SAFETY: strides, where there are any, are as many as dimensions.
            let dense = layout.strides.is_null()
                || size <= 1
                || unsafe { *layout.strides.add(axis) } == count;
            if !dense {
                return Err(Error::internal("a tensor is not contiguous"));
            }
            count *= size;
        }
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: a dense tensor has `count` elements of this type from its byte offset on, and
        // nobody writes to it while it is shared.
        Ok(unsafe {
            let data = layout.data.cast::<u8>().add(layout.byte_offset as usize);
            std::slice::from_raw_parts(data.cast::<T>(), count as usize)
        })
    }
}

fn element_count(shape: &[i64]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?))
        .filter(|count| count.checked_mul(8).is_some())
        .ok_or_else(|| Error::input(format!("{shape:?} is not the shape of a tensor")))
}

fn data_type(name: &str) -> Result<DataType> {
    let known: HashMap<&str, (u8, u8)> = HashMap::from([
        ("bool", (6, 8)),
        ("int8", (0, 8)),
        ("uint8", (1, 8)),
        ("int16", (0, 16)),
        ("uint16", (1, 16)),
        ("int32", (0, 32)),
        ("uint32", (1, 32)),
        ("int64", (0, 64)),
        ("uint64", (1, 64)),
        ("float16", (2, 16)),
        ("float32", (2, 32)),
        ("float64", (2, 64)),
    ]);
    let (code, bits) = known
        .get(name)
        .copied()
        .ok_or_else(|| Error::artifact(format!("{name} is not a known element type")))?;
    Ok(DataType { code, bits, lanes: 1 })
}

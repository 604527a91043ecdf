//! The part of `tvm/ffi/c_api.h` (0.1) and `dlpack.h` (1.0) that running an artifact needs.

use std::ffi::{c_char, c_void};

pub const NONE: i32 = 0;
pub const INT: i32 = 1;
pub const BOOL: i32 = 2;
pub const RAW_STR: i32 = 8;
/// Values from this index on are references to objects.
pub const STATIC_OBJECT_BEGIN: i32 = 64;
pub const FUNCTION: i32 = 68;
pub const TENSOR: i32 = 70;
pub const ARRAY: i32 = 71;
pub const MODULE: i32 = 73;

pub const CPU: i32 = 1;
pub const READ_ONLY: u64 = 1;

/// `TVMFFIVersion`.
#[repr(C)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// `TVMFFIObject`: the header of every object; the content follows it.
#[repr(C)]
pub struct Header {
    pub combined_ref_count: u64,
    pub type_index: i32,
    pub padding: u32,
    pub deleter: Option<unsafe extern "C" fn(*mut c_void, i32)>,
}

pub type Handle = *mut Header;

#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    pub int: i64,
    pub str: *const c_char,
    pub object: Handle,
}

/// `TVMFFIAny`: an argument or a result. The padding must be zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Any {
    pub type_index: i32,
    pub padding: u32,
    pub value: Value,
}

#[repr(C)]
pub struct ByteArray {
    pub data: *const u8,
    pub size: usize,
}

/// The beginning of `TVMFFIErrorCell`.
#[repr(C)]
pub struct ErrorCell {
    pub kind: ByteArray,
    pub message: ByteArray,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub device_type: i32,
    pub device_id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
pub struct ManagedTensor {
    pub version_major: u32,
    pub version_minor: u32,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    pub flags: u64,
    pub tensor: DlTensor,
}

const _: () = {
    use std::mem::size_of;
    assert!(size_of::<Header>() == 24 && size_of::<Any>() == 16);
    assert!(size_of::<DlTensor>() == 48 && size_of::<ManagedTensor>() == 80);
};

/// The functions of libtvm_ffi, looked up by name.
pub struct Api {
    pub get_version: unsafe extern "C" fn(*mut Version),
    pub inc_ref: unsafe extern "C" fn(Handle) -> i32,
    pub dec_ref: unsafe extern "C" fn(Handle) -> i32,
    pub get_global: unsafe extern "C" fn(*const ByteArray, *mut Handle) -> i32,
    pub call: unsafe extern "C" fn(Handle, *mut Any, i32, *mut Any) -> i32,
    pub move_error: unsafe extern "C" fn(*mut Handle),
    pub tensor_from_dlpack: unsafe extern "C" fn(*mut ManagedTensor, i32, i32, *mut Handle) -> i32,
}

//! Name the shared library, so that programs find it by this name wherever it is copied.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libkokoro.so");
    }
}

// TVM's CUDA text asks for CUDART_INF and the like here; cuda_builtins.h has them.
#pragma once

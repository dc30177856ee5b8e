// The instruction sets that reduction kernels are compiled for. What runs asks kernel() of reduction.hpp, which takes
// the widest.
#pragma once

#include "runtime/reduction.hpp"

namespace omnes::inline runtime {

enum class Width { baseline, avx2, avx512 };

/// The widest that this processor has; it has all the narrower ones.
Width widest();
/// As kernel(), but compiled for `width`, which the processor must have.
ReduceFn kernel(ReduceOp op, Element element, Width width);

}  // namespace omnes::inline runtime

// SPDX-License-Identifier: Apache-2.0
// Whether tests run in the VM, whose kernel has dma-bufs: there nothing may be skipped for their lack.
#pragma once

#include <cstdlib>

namespace tenon {

inline bool expects_dmabufs() { return std::getenv("TENON_EXPECT_DMABUFS") != nullptr; }

}  // namespace tenon

// SPDX-License-Identifier: Apache-2.0
// OpenCL's C++ classes, with exceptions, as the constructors of ocl.hpp take them.
#pragma once

#ifndef CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_ENABLE_EXCEPTIONS
#endif
#include <CL/opencl.hpp>

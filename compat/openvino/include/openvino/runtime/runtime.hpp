// SPDX-License-Identifier: Apache-2.0
// All of the runtime.
#pragma once

#include "openvino/runtime/core.hpp"

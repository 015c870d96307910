// SPDX-License-Identifier: Apache-2.0
// All that an application needs.
#pragma once

#include "openvino/core/core.hpp"
#include "openvino/runtime/runtime.hpp"

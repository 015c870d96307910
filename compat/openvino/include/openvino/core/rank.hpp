// SPDX-License-Identifier: Apache-2.0
// Part of dimension.hpp.
#pragma once

#include "openvino/core/dimension.hpp"

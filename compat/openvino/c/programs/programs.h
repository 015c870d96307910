/* SPDX-License-Identifier: Apache-2.0
   Programs for OpenVINO's C API, which are compiled for the original and for Tenon. What they print is the same. */
#pragma once

#include "lines.h"

#include <openvino/c/ov_prepostprocess.h>

/** x of this shape (extents, with commas; -1 moves) + 1 2 3 by channel, then ReLU: y. */
ov_model_t* small_model(const ov_core_t* core, const char* shape);
/** The same as text, with the weights as a file's bytes: 12. */
void small_model_text(const char* shape, char* xml, size_t size);
extern const float small_weights[3];
/** A path in a folder of this run. */
const char* path_of(const char* name);

void values(void);
void models(void);
void classification(void);
void asynchronous(void);
void preprocessing(void);
void dynamic_shapes(void);
void caching(void);
void properties(void);
void errors(void);

#pragma once

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/python_reader.h"

namespace berth {

// Adds the flags of `fit`, a call of model.fit(train_objectives=[...]) of sentence-transformers
// before version 3. Arguments that berth does not read are remarks, and refused.
void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch);

// Adds the task and the loss of a program of sentence-transformers. A loss that berth does not
// have, and an argument that changes one, is refused.
void read_similarity_loss(const PythonProgram& program, Launch& launch);

// The name of the model that SentenceTransformer(name) loads: the library puts its organization in
// front of a name without one, unless transformers has a model of this name.
std::string sentence_model(const std::string& name);

// Says how long texts may be where the program does not: as the model's files say, or as its
// positions allow. A model of which neither is known is refused.
void take_sentence_length(const std::string& model, Launch& launch);

}  // namespace berth

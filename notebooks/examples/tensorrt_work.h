// The GPU work of a recipe's tasks by TensorRT: put it in place of work.h, and add -lnvinfer to
// run.sh.
//
// The engine of task NAME is in NAME.engine, with tensors of float, built with setMaxAuxStreams(0):
// all of it is then in the stream of the task. It has one GPU segment; copies belong to its time.
#pragma once
#include <NvInfer.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "gpu.h"

struct Tensor {
    bool is_input;
    size_t bytes;
    void *host; // pinned
    CUdeviceptr device;
};

struct Model {
    std::unique_ptr<nvinfer1::ICudaEngine> engine;
    std::unique_ptr<nvinfer1::IExecutionContext> context;
    std::vector<Tensor> tensors;
};

inline Model models[TASK_COUNT]; // of the tasks: their threads use no other

class Logger : public nvinfer1::ILogger
{
    void log(Severity severity, const char *text) noexcept override
    {
        if (severity <= Severity::kWARNING) {
            std::fprintf(stderr, "%s\n", text);
        }
    }
};

// Copies in, the engine and copies out, enqueued.
inline int enqueue(Model &model, gpu_stream_t stream)
{
    for (const Tensor &tensor : model.tensors) {
        if (tensor.is_input &&
            gpu_done(cuMemcpyHtoDAsync(tensor.device, tensor.host, tensor.bytes, stream),
                     "cuMemcpyHtoDAsync") < 0) {
            return -1;
        }
    }
    if (!model.context->enqueueV3(stream)) {
        return -1;
    }
    for (const Tensor &tensor : model.tensors) {
        if (!tensor.is_input &&
            gpu_done(cuMemcpyDtoHAsync(tensor.host, tensor.device, tensor.bytes, stream),
                     "cuMemcpyDtoHAsync") < 0) {
            return -1;
        }
    }
    return 0;
}

inline int open_tensor(Model &model, const char *name)
{
    const nvinfer1::Dims shape = model.engine->getTensorShape(name);
    Tensor tensor{model.engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT,
                  sizeof(float), nullptr, 0};
    for (int k = 0; k < shape.nbDims; k++) {
        if (shape.d[k] < 1) {
            std::fprintf(stderr, "%s: expected a shape that is known\n", name);
            return -1;
        }
        tensor.bytes *= static_cast<size_t>(shape.d[k]);
    }
    if (model.engine->getTensorDataType(name) != nvinfer1::DataType::kFLOAT) {
        std::fprintf(stderr, "%s: expected a tensor of float\n", name);
        return -1;
    }
    if (gpu_done(cuMemAlloc(&tensor.device, tensor.bytes), "cuMemAlloc") < 0 ||
        gpu_done(cuMemHostAlloc(&tensor.host, tensor.bytes, 0), "cuMemHostAlloc") < 0) {
        return -1;
    }
    model.tensors.push_back(tensor);
    return model.context->setTensorAddress(name, reinterpret_cast<void *>(tensor.device)) ? 0 : -1;
}

// Before the first job: the engine is loaded, its memory allocated, and it runs once.
inline int prepare(int task, gpu_stream_t stream)
{
    static Logger logger;
    static nvinfer1::IRuntime *const runtime = nvinfer1::createInferRuntime(logger);
    static std::mutex loading;
    const std::lock_guard<std::mutex> hold(loading);
    const std::string path = std::string(TASKS[task].name) + ".engine";
    std::ifstream file(path, std::ios::binary);
    const std::string plan{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    Model &model = models[task];
    model.engine.reset(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (model.engine == nullptr) {
        std::fprintf(stderr, "%s: expected an engine\n", path.c_str());
        return -1;
    }
    model.context.reset(model.engine->createExecutionContext());
    for (int k = 0; k < model.engine->getNbIOTensors(); k++) {
        if (open_tensor(model, model.engine->getIOTensorName(k)) < 0) {
            return -1;
        }
    }
    return enqueue(model, stream) < 0
               ? -1
               : gpu_done(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

// CPU work number `phase` of a job: fill the inputs in models[task], or use the outputs. As long as
// it is not replaced, it takes four fifths of its time.
inline void cpu_work(int /* task */, int /* phase */, int64_t ns)
{
    for (const int64_t end = gs_rt_cpu_time() + ns * 4 / 5; gs_rt_cpu_time() < end;) {
    }
}

// Enqueues the GPU segment of a job, and returns at once.
inline int gpu_work(int task, int /* phase */, gpu_stream_t stream, int64_t /* ns */)
{
    return enqueue(models[task], stream);
}

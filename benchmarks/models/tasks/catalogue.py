"""The tasks by name. Importing this needs none of the libraries that they are written with."""

import dataclasses
import importlib
import warnings

from benchmarks.models.tasks.problem import Problem


@dataclasses.dataclass(frozen=True)
class Task:
    """A kind of training.

    title: for tables. library, optimiser: what it is written with. module: of this folder. function: in it, makes the
    `Problem` of a seed and these arguments. held_out: never looked at while rules are tuned; only its final numbers
    count.
    """

    title: str
    library: str
    optimiser: str
    module: str
    held_out: bool = False
    function: str = "make"
    arguments: tuple[str, ...] = ()

    def make(self, seed: int) -> Problem:
        """Raises ImportError where the library is not installed (`pip install 'scalify_hlo[test,libraries]'`)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that are older than the jax they are used with
            module = importlib.import_module(f"benchmarks.models.tasks.{self.module}")
        problem: Problem = getattr(module, self.function)(seed, *self.arguments)
        return problem


TASKS: dict[str, Task] = {
    "moe": Task("mixture of experts, top 2", "flax.linen", "AdamW, clipping, warm-up", "mixture_of_experts"),
    "ssm": Task("selective state space", "equinox", "AdamW, masked decay", "state_space"),
    "rwkv": Task("RWKV-like, scan over time", "jax", "Lion, schedule", "linear_attention"),
    "flow": Task("normalising flow", "equinox", "Adam, clipping", "normalising_flow"),
    "vae": Task("VAE, batch norm", "flax.linen", "Adam", "variational_autoencoder"),
    "graph": Task("graph network", "haiku", "Adam in MultiSteps", "graph_network"),
    "seq2seq": Task("encoder-decoder, dropout", "flax.nnx", "AdamW, clipping, warm-up", "encoder_decoder"),
    "contrastive": Task("contrastive, two towers", "equinox", "Muon", "contrastive"),
    "physics": Task("physics-informed, 2nd derivatives", "equinox", "Adam, schedule", "physics_informed"),
    "ppo": Task("PPO, epochs of updates in scans", "flax.linen", "Adam, clipping", "policy_optimisation"),
    "diffusion": Task("diffusion U-Net, typed keys", "flax.linen", "Adam, average of weights", "diffusion"),
    "s4d": Task("diagonal state space, parallel prefix", "flax.linen", "Adam, clipping", "diagonal_recurrence"),
    "coupling": Task("flow of couplings", "flax.linen", "AdamW", "coupling_flow"),
    "splines": Task("network of splines", "jax", "Adam", "spline_network"),
    "q-learning": Task("double Q-learning, target network", "flax.linen", "Adam, clipping", "value_learning"),
    "sines": Task("network of sines, 2nd derivatives", "flax.linen", "Adam, schedule", "sine_network"),
    "alignment": Task("speech, alignment by CTC", "flax.linen", "Adam", "speech_alignment"),
    "operator": Task("Fourier neural operator", "jax", "Adam", "fourier_operator"),
    "forecasting": Task("temporal convolutions, quantiles", "flax.nnx", "AdamW, one cycle", "forecasting"),
    "biased-attention": Task(
        "decoder, ALiBi, grouped queries, z-loss", "equinox", "AdamW in MultiSteps, warm-up", "biased_attention"
    ),
    "recommender": Task("recommender, embedding tables", "jax", "Adagrad, RMSprop", "recommender", held_out=True),
    "gan": Task("GAN", "equinox", "two Adams", "adversarial", held_out=True),
    "lora": Task("LoRA, frozen weights", "jax", "AdamW, schedule", "low_rank_adaptation", held_out=True),
    "convnet": Task("residual network, batch norm", "flax.linen", "NovoGrad, schedule", "convolutional", held_out=True),
    "convnet-sgd": Task(
        "residual network, batch norm", "flax.linen", "Nesterov momentum, decay, warm-up", "convolutional",
        held_out=True, function="make_momentum",
    ),
    "scanned": Task(
        "transformer, scanned layers, remat, accumulation", "jax", "Adafactor", "scanned_transformer", held_out=True
    ),
    "schedule-free": Task("regression, large units", "flax.nnx", "schedule-free AdamW", "schedule_free", held_out=True),
    "metric": Task("metric learning, triplets", "jax", "momentum, schedule", "metric_learning", held_out=True),
    "density": Task("mixture density", "jax", "Adam", "mixture_density", held_out=True),
    "labelling": Task("sequence labels, random field", "jax", "AdamW", "sequence_labelling", held_out=True),
    "equilibrium": Task("deep equilibrium, while loops", "jax", "Nesterov momentum", "equilibrium", held_out=True),
    "score": Task("denoising score matching", "haiku", "Adam", "score_matching", held_out=True),
    "automaton": Task("neural cellular automaton", "jax", "Adam, clipping", "cellular_automaton", held_out=True),
    "distillation": Task("mixer, two views, averaged target", "flax.linen", "LAMB, accumulation", "self_distillation"),
    "codes": Task("VQ-VAE, straight-through", "equinox", "Adam", "vector_quantisation"),
    "neural-ode": Task("neural ODE, adjoint of a solver", "jax", "AdamW", "neural_ode"),
    "performer": Task("decoder, positive random features", "flax.linen", "AdamW, clipping", "kernel_attention"),
    "sorting": Task("NeuralSort", "jax", "sharpness-aware Adam", "sorting"),
    "clip": Task("CLIP, images and text", "flax.linen", "AdamW in Lookahead", "image_text"),
    "pooling": Task("generalised-mean pooling, x^4", "jax", "Adam", "mean_pooling"),
    "splatting": Task("Gaussian splatting", "jax", "Adam, a rate for each kind", "gaussian_splatting"),
    "hyperbolic": Task("hyperbolic embeddings", "jax", "Riemannian descent", "hyperbolic_embeddings"),
    "eigenbasis": Task("classifier in eigenbases", "jax", "SOAP", "eigenbasis_optimiser"),
    "meta": Task("MAML, learned rates, 2nd derivatives", "jax", "Adam, clipping by element", "meta_learning"),
    "rational": Task("rational activations, Student's likelihood", "jax", "Adam", "rational_activations"),
    "whitening": Task("batches whitened by Newton's iterations", "jax", "ADOPT", "whitening"),
    "survival": Task("survival times, Cox", "jax", "AdamW", "survival"),
    "insurance": Task("claims and ratings, Tweedie, ordinal", "jax", "Adam", "insurance", held_out=True),
    "counts": Task("counts, negative binomial", "jax", "Adam", "count_regression", held_out=True),
}  # fmt: skip


def find_task(name: str) -> Task:
    """A task of the zoo, or "MODEL/OPTIMISER": one of three small models with any optimiser.

    Raises KeyError for a name of the zoo that is not known.
    """
    model, _, optimiser = name.partition("/")
    return Task(name, "optax", optimiser, "optimisers", arguments=(model, optimiser)) if optimiser else TASKS[name]

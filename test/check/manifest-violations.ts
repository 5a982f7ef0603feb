/** Mistakes in the Kubernetes manifests that `check.mjs manifests` must catch. */

import type { Violation } from "./violation.js";

const FILE = "deploy/kubernetes/reeve.yaml";

const replaced = (
	title: string,
	from: string | RegExp,
	to: string,
	...finds: readonly string[]
): Violation => ({
	title,
	plant: { [FILE]: (before) => before.replace(from, to) },
	finds: finds.map((each) => `${FILE}: ${each}`),
});

export const MANIFEST_VIOLATIONS: readonly Violation[] = [
	replaced(
		"a field with a spelling mistake",
		"readinessProbe:",
		"readynessProbe:",
		"Unrecognized key",
	),
	replaced("a value of the wrong type", "replicas: 3", 'replicas: "3"', "Invalid input"),
	replaced(
		"a container that may run as root",
		"runAsNonRoot: true",
		"runAsNonRoot: false",
		"Invalid input",
	),
	replaced(
		"an image without a version",
		"image: reeve:0.1.0",
		"image: reeve:latest",
		"needs a fixed version",
	),
	replaced(
		"a secret in the manifest",
		/valueFrom:\s+secretKeyRef: \{.*\}/,
		"value: postgres://reeve:secret@db/reeve",
		"REEVE_DATABASE_URL of reeve is not from a Secret",
	),
	replaced(
		"a budget for other pods",
		"  maxUnavailable: 1\n  selector:\n    matchLabels: { app.kubernetes.io/name: reeve",
		"  maxUnavailable: 1\n  selector:\n    matchLabels: { app.kubernetes.io/name: other",
		"no PodDisruptionBudget selects its pods",
	),
	replaced(
		"a readiness probe of another path",
		"http://localhost/ready",
		"http://localhost/health",
		"the readiness probe does not request /ready",
	),
	replaced(
		"no drain before a stop",
		"reeve host drain",
		"reeve host show",
		"`preStop` does not drain the host",
	),
	replaced(
		"less time than the drain takes",
		"terminationGracePeriodSeconds: 120",
		"terminationGracePeriodSeconds: 60",
		"terminationGracePeriodSeconds is less than the time of `preStop` and 20 s",
	),
	replaced(
		"a volume that does not exist",
		"name: tls, secret: {",
		"name: cert, secret: {",
		"settings mounts the volume tls, which is missing",
		"reeve mounts the volume tls, which is missing",
	),
];

/**
 * Checks the Kubernetes manifests in `deploy`, without a network. The schemas cover exactly the fields that the manifests
 * use, and refuse all others: the API server ignores a field that it does not know, so a probe with a spelling mistake
 * would be no probe. Rules between the objects follow.
 *
 * Works on the checkout that is the current directory, so that tests can run it on a copy.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const FOLDER = "deploy/kubernetes";
/** How long the daemon may take to stop, after `preStop`. */
const STOP_SECONDS = 20;

const labels = z.record(z.string(), z.string());
const names = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const metadata = z.strictObject({ name: names, labels });
const matchLabels = z.strictObject({ matchLabels: labels });
const quantity = z.string().regex(/^\d+(m|Ki|Mi|Gi|Ti)?$/);
const amounts = z.strictObject({
	cpu: quantity.optional(),
	memory: quantity.optional(),
	storage: quantity.optional(),
});
const image = z.string().regex(/^[a-z0-9./_-]+:(?!latest$)[\w.-]+$/, "needs a fixed version");
const exec = z.strictObject({ exec: z.strictObject({ command: z.array(z.string()).min(1) }) });
const probe = exec.extend({
	periodSeconds: z.number().int().positive(),
	timeoutSeconds: z.number().int().positive().optional(),
	failureThreshold: z.number().int().positive(),
});
const variable = z.union([
	z.strictObject({ name: z.string(), value: z.string() }),
	z.strictObject({
		name: z.string(),
		valueFrom: z.union([
			z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal("metadata.name") }) }),
			z.strictObject({ secretKeyRef: z.strictObject({ name: names, key: z.string() }) }),
		]),
	}),
]);
const container = z.strictObject({
	name: names,
	image,
	command: z.array(z.string()).min(1).optional(),
	ports: z
		.array(
			z.strictObject({
				name: names,
				containerPort: z.number().int().min(1024).max(65_535),
				protocol: z.literal("TCP"),
			}),
		)
		.optional(),
	env: z.array(variable),
	startupProbe: probe.optional(),
	livenessProbe: probe.optional(),
	readinessProbe: probe.optional(),
	lifecycle: z.strictObject({ preStop: exec }).optional(),
	resources: z.strictObject({ requests: amounts, limits: amounts }),
	securityContext: z.strictObject({
		allowPrivilegeEscalation: z.literal(false),
		readOnlyRootFilesystem: z.literal(true),
		capabilities: z.strictObject({ drop: z.tuple([z.literal("ALL")]) }),
	}),
	volumeMounts: z.array(
		z.strictObject({ name: names, mountPath: z.string(), readOnly: z.literal(true).optional() }),
	),
});
const volume = z.union([
	z.strictObject({ name: names, configMap: z.strictObject({ name: names }) }),
	z.strictObject({
		name: names,
		secret: z.strictObject({ secretName: names, defaultMode: z.number().int().max(0o440) }),
	}),
	z.strictObject({ name: names, emptyDir: z.strictObject({}) }),
]);
const retain = z.literal("Retain");

const OBJECT = z.discriminatedUnion("kind", [
	z.strictObject({
		apiVersion: z.literal("v1"),
		kind: z.literal("ServiceAccount"),
		metadata,
		automountServiceAccountToken: z.literal(false),
	}),
	z.strictObject({
		apiVersion: z.literal("v1"),
		kind: z.literal("Service"),
		metadata,
		spec: z.strictObject({
			clusterIP: z.literal("None"),
			publishNotReadyAddresses: z.boolean(),
			selector: labels,
			ports: z.array(
				z.strictObject({
					name: names,
					port: z.number().int().min(1).max(65_535),
					targetPort: names,
					protocol: z.literal("TCP"),
				}),
			),
		}),
	}),
	z.strictObject({
		apiVersion: z.literal("policy/v1"),
		kind: z.literal("PodDisruptionBudget"),
		metadata,
		spec: z.strictObject({ maxUnavailable: z.number().int().min(1), selector: matchLabels }),
	}),
	z.strictObject({
		apiVersion: z.literal("v1"),
		kind: z.literal("ConfigMap"),
		metadata,
		data: z.record(z.string(), z.string()),
	}),
	z.strictObject({
		apiVersion: z.literal("apps/v1"),
		kind: z.literal("StatefulSet"),
		metadata,
		spec: z.strictObject({
			serviceName: names,
			replicas: z.number().int().min(1),
			podManagementPolicy: z.enum(["Parallel", "OrderedReady"]),
			updateStrategy: z.strictObject({ type: z.literal("RollingUpdate") }),
			selector: matchLabels,
			template: z.strictObject({
				metadata: z.strictObject({ labels }),
				spec: z.strictObject({
					serviceAccountName: names,
					automountServiceAccountToken: z.literal(false),
					shareProcessNamespace: z.literal(true),
					terminationGracePeriodSeconds: z.number().int().positive(),
					securityContext: z.strictObject({
						runAsNonRoot: z.literal(true),
						runAsUser: z.number().int().min(1),
						runAsGroup: z.number().int().min(1),
						fsGroup: z.number().int().min(1),
						fsGroupChangePolicy: z.literal("OnRootMismatch"),
						seccompProfile: z.strictObject({ type: z.literal("RuntimeDefault") }),
					}),
					topologySpreadConstraints: z.array(
						z.strictObject({
							maxSkew: z.number().int().min(1),
							topologyKey: z.string(),
							whenUnsatisfiable: z.enum(["ScheduleAnyway", "DoNotSchedule"]),
							labelSelector: matchLabels,
						}),
					),
					initContainers: z.array(container),
					containers: z.tuple([container]),
					volumes: z.array(volume),
				}),
			}),
			persistentVolumeClaimRetentionPolicy: z.strictObject({
				whenDeleted: retain,
				whenScaled: retain,
			}),
			volumeClaimTemplates: z.array(
				z.strictObject({
					metadata: z.strictObject({ name: names }),
					spec: z.strictObject({
						accessModes: z.tuple([z.literal("ReadWriteOnce")]),
						resources: z.strictObject({ requests: amounts }),
					}),
				}),
			),
		}),
	}),
]);

/** @typedef {z.output<typeof OBJECT>} Manifest */
/** @typedef {Extract<Manifest, { kind: "StatefulSet" }>} StatefulSet */

/**
 * @template {Manifest["kind"]} Kind
 * @param {readonly Manifest[]} objects
 * @param {Kind} kind
 * @returns {Extract<Manifest, { kind: Kind }>[]}
 */
const ofKind = (objects, kind) =>
	/** @type {Extract<Manifest, { kind: Kind }>[]} */ (objects.filter((each) => each.kind === kind));

const isSubset = (/** @type {object} */ part, /** @type {Record<string, string>} */ whole) =>
	Object.entries(part).every(([name, value]) => whole[name] === value);

/**
 * @param {StatefulSet} set
 * @param {readonly Manifest[]} objects
 * @returns {string[]}
 */
function problemsOf({ spec }, objects) {
	const { template, serviceName, selector } = spec;
	const pod = template.spec;
	const [main] = pod.containers;
	const { labels } = template.metadata;
	/** @type {string[]} */
	const problems = [];
	const need = (/** @type {boolean} */ holds, /** @type {string} */ rule) => {
		if (!holds) problems.push(rule);
	};
	const services = ofKind(objects, "Service");
	const budgets = ofKind(objects, "PodDisruptionBudget");
	const accounts = ofKind(objects, "ServiceAccount");
	const maps = ofKind(objects, "ConfigMap");
	const service = services.find(({ metadata }) => metadata.name === serviceName);
	need(
		isSubset(selector.matchLabels, labels),
		"the selector does not match the labels of its pods",
	);
	need(
		service !== undefined && isSubset(service.spec.selector, labels),
		"no Service of the name in `serviceName` selects its pods",
	);
	for (const { name, targetPort } of service?.spec.ports ?? []) {
		const isThere = main.ports?.some((port) => port.name === targetPort) === true;
		need(isThere, `the port ${name} of the Service is no port of the container`);
	}
	need(
		budgets.some((budget) => isSubset(budget.spec.selector.matchLabels, labels)),
		"no PodDisruptionBudget selects its pods",
	);
	need(
		accounts.some(({ metadata }) => metadata.name === pod.serviceAccountName),
		"its ServiceAccount is missing",
	);
	for (const each of pod.volumes) {
		if (!("configMap" in each)) continue;
		const isThere = maps.some(({ metadata }) => metadata.name === each.configMap.name);
		need(isThere, `the ConfigMap ${each.configMap.name} is missing`);
	}
	const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)];
	for (const { name, volumeMounts, env } of [...pod.initContainers, main]) {
		for (const mount of volumeMounts) {
			const isThere = volumes.some((each) => each.name === mount.name);
			need(isThere, `${name} mounts the volume ${mount.name}, which is missing`);
		}
		for (const each of env) {
			const isSecret = /PASSWORD|SECRET|TOKEN|URL/.test(each.name);
			const isFromSecret = "valueFrom" in each && "secretKeyRef" in each.valueFrom;
			need(!isSecret || isFromSecret, `${each.name} of ${name} is not from a Secret`);
		}
	}
	problems.push(...lifeProblems(main, pod.terminationGracePeriodSeconds));
	return problems;
}

/**
 * Its probes, and the time that it has to stop.
 *
 * @param {StatefulSet["spec"]["template"]["spec"]["containers"][0]} main
 * @param {number} graceSeconds
 * @returns {string[]}
 */
function lifeProblems({ startupProbe, livenessProbe, readinessProbe, lifecycle }, graceSeconds) {
	/** @type {string[]} */
	const problems = [];
	const asks = (
		/** @type {z.output<typeof probe> | undefined} */ each,
		/** @type {string} */ path,
	) => each?.exec.command.some((argument) => argument.endsWith(path)) === true;
	if (!asks(startupProbe, "/health")) problems.push("the startup probe does not request /health");
	if (!asks(livenessProbe, "/health")) problems.push("the liveness probe does not request /health");
	if (!asks(readinessProbe, "/ready")) problems.push("the readiness probe does not request /ready");
	const stop = lifecycle?.preStop.exec.command.join(" ") ?? "";
	const [, seconds] = /reeve host drain .*--until-restart --timeout (\d+)s/.exec(stop) ?? [];
	if (seconds === undefined) problems.push("`preStop` does not drain the host");
	else if (graceSeconds < Number(seconds) + STOP_SECONDS) {
		problems.push(
			`terminationGracePeriodSeconds is less than the time of \`preStop\` and ${STOP_SECONDS} s`,
		);
	}
	return problems;
}

/** @param {string} path */
function check(path) {
	/** @type {string[]} */
	const problems = [];
	/** @type {Manifest[]} */
	const objects = [];
	for (const document of parseAllDocuments(readFileSync(path, "utf8"), { version: "1.2" })) {
		if (!("errors" in document)) continue;
		for (const error of document.errors) problems.push(error.message);
		const value = document.toJS({ maxAliasCount: 100 });
		const parsed = OBJECT.safeParse(value);
		if (parsed.success) objects.push(parsed.data);
		else problems.push(z.prettifyError(parsed.error).replaceAll("\n", " "));
	}
	for (const set of ofKind(objects, "StatefulSet")) problems.push(...problemsOf(set, objects));
	for (const problem of problems) console.log(`${path}: ${problem}`);
	return { problems: problems.length, objects: objects.length };
}

const checked = readdirSync(FOLDER)
	.filter((name) => name.endsWith(".yaml"))
	.map((name) => check(join(FOLDER, name)));
const objects = checked.reduce((sum, each) => sum + each.objects, 0);
if (objects === 0) console.log("found no manifest");
process.exitCode = objects === 0 || checked.some(({ problems }) => problems > 0) ? 1 : 0;
